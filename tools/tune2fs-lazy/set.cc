// SPDX-License-Identifier: GPL-2.0-or-later
#include <memory>

#include "common/command.h"
#include "common/print_line.h"
#include "lazyinit/mount_options.h"
#include "tune2fs-lazy/session.h"

namespace e4r::tools {
namespace cmd_set {
namespace {

struct Options {
  ImageOptions image;
  std::string value;
};

std::string quoted(const std::string& text) {
  return text.empty() ? "none" : "'" + text + "'";
}

Result<int> run(const Options& options) {
  const auto wanted = lazyinit::parse_init_itable(options.value);
  if (!wanted.ok()) return usage_error(wanted.error().message);
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const Session session, open_to_write(options.image, lock));
  const std::string before = session.tables->mount_options();
  E4R_TRY(const std::string after, lazyinit::with_init_itable(before, *wanted));
  if (after != before) {
    E4R_CHECK(session.tables->set_mount_options(after));
    E4R_CHECK(session.tables->flush());
    E4R_CHECK(session.target->sync());
  }
  print_line("{}: mount options in the superblock: {}{}", session.target->path(),
             options.image.dry_run ? "would be " : "", quoted(after));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option("value", options->value, "init_itable=N, noinit_itable or default")
      .required()
      .type_name("OPTION");
  declare_image(app, options->image, true);
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_set

const Command& set_command() {
  static const Command kCommand = {
      "set", "the kernel thread's wait multiplier, kept in the superblock",
      "  tune2fs-lazy set init_itable=2 disk.img         sleep twice as long as it works\n"
      "  tune2fs-lazy set noinit_itable disk.img         never by the kernel\n"
      "  tune2fs-lazy set default disk.img               as if nothing had been set\n",
      cmd_set::declare};
  return kCommand;
}

}  // namespace e4r::tools
