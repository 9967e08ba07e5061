// SPDX-License-Identifier: GPL-2.0-or-later
#include <memory>

#include "common/command.h"
#include "common/print_line.h"
#include "lazyinit/inventory.h"
#include "tune2fs-lazy/session.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_rearm {
namespace {

struct Options {
  ImageOptions image;
  std::string groups;
};

Result<int> run(const Options& options) {
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const Session session, open_to_write(options.image, lock));
  E4R_CHECK(need_checksums(session));
  const auto tables = session.tables->tables();
  const auto range = parse_groups(options.groups, session.tables->file_system().groups);
  if (!range.ok()) return usage_error(range.error().message);
  std::uint64_t cleared = 0;
  for (std::uint32_t group = range->first; group <= range->last; ++group) {
    cleared += tables[group].zeroed;
    session.tables->set_zeroed(group, false);
  }
  E4R_CHECK(session.tables->flush());
  E4R_CHECK(session.target->sync());
  print_line("{}: {}cleared ITABLE_ZEROED of {}; {} to zero now", session.target->path(),
             would(options.image), groups_text(cleared),
             format_size(lazyinit::take_inventory(session.tables->tables()).bytes_to_do));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, true);
  app.add_option("--groups", options->groups, "only these: 7, 3-9 or 100-").type_name("A-B");
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_rearm

const Command& rearm_command() {
  static const Command kCommand = {
      "rearm", "clear ITABLE_ZEROED, so that tables are initialised again",
      "  tune2fs-lazy rearm restored.img                 restored onto a disk that was not zero\n"
      "  tune2fs-lazy rearm --groups 100-199 disk.img\n",
      cmd_rearm::declare};
  return kCommand;
}

}  // namespace e4r::tools
