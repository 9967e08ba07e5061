// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/tune2fs.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "common/child.h"
#include "common/command.h"
#include "common/native.h"
#include "common/print_line.h"
#include "lazyinit/features.h"
#include "lazyinit/kernel_thread.h"
#include "lazyinit/verify.h"
#include "tune2fs-lazy/session.h"
#include "util/units.h"

namespace e4r::tools {

std::optional<std::string> tune2fs_with(const std::string& command) {
  auto program = find_tune2fs();
  if (!program.ok()) return std::nullopt;
  const std::vector<std::string> has = commands_of_tune2fs(*program);
  if (std::ranges::find(has, command) == has.end()) return std::nullopt;
  return *std::move(program);
}

Status run_itable(const std::string& tune2fs, const std::string& command,
                  const ImageOptions& options, const lazyinit::ImageLock& /*lock*/) {
  std::vector<std::string> argv = {"tune2fs"};
  if (!options.undo.empty()) argv.insert(argv.end(), {"-z", options.undo});
  // tune2fs probes a device only with -f, because the device's zeros may not last. The caller has
  // checked that they last.
  if (command == "probe") argv.emplace_back("-f");
  argv.insert(argv.end(), {"-E", "itable=" + command, options.image});
  std::fflush(stdout);
  E4R_TRY(const int status, run_child(tune2fs, std::move(argv)));
  if (status == 0) return {};
  return error("{} -E itable={} {} failed with status {}", tune2fs, command, options.image, status);
}

namespace {

// The output of a tool as one line, without the tool's version.
std::string one_line(const std::string& text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string piece = text.substr(at, end - at);
    if (!piece.empty() && !piece.starts_with("tune2fs 1."))
      line += (line.empty() ? "" : " ") + piece;
    at = end + 1;
  }
  return line;
}

// Runs tune2fs -O FEATURES IMAGE. Returns its output as one line. If it fails, the output is in the
// Error.
Result<std::string> run_tune2fs(const std::string& features, const std::string& image) {
  E4R_TRY(const std::string program, find_tune2fs());
  E4R_TRY(const Captured ran, run_captured(program, {program, "-O", features, image}));
  if (ran.status == 0) return one_line(ran.text);
  return error("tune2fs -O {} {} failed: {}", features, image, one_line(ran.text));
}

Result<std::vector<bool>> flagged_groups(const std::string& image) {
  E4R_TRY(const auto target, lazyinit::Target::open(image, lazyinit::Target::Access::read));
  return lazyinit::read_zeroed_flags(*target);
}

}  // namespace

Status change_metadata_csum(const ImageOptions& options, const std::string& features,
                            const lazyinit::ImageLock& lock) {
  if (options.dry_run) {
    print_line("would have run tune2fs -O {} {}", features, options.image);
    return {};
  }
  E4R_TRY(const auto flagged, flagged_groups(options.image));
  E4R_TRY(const std::string said, run_tune2fs(features, options.image));
  if (!said.empty()) print_line("tune2fs: {}", said);
  E4R_TRY(const auto target, open_target(options, lock));
  E4R_CHECK(lazyinit::keep_flags(*target, flagged));
  E4R_CHECK(lazyinit::renew_orphan_checksums(*target));
  E4R_TRY(const bool wants_check, lazyinit::needs_check(*target));
  if (wants_check)
    return error(
        "{}: tune2fs -O {} is done and requires a check before this command can continue: run "
        "e2fsck -fyD {}, then the same command again",
        options.image, features, options.image);
  return {};
}

namespace cmd_set {
namespace {

struct Options {
  ImageOptions image;
  std::string value;
};

std::string quote(const std::string& text) {
  return text.empty() ? "none" : "'" + text + "'";
}

Result<int> run(const Options& options) {
  const auto wanted = lazyinit::parse_init_itable(options.value);
  if (!wanted.ok()) return usage_error(wanted.error().message);
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const OpenedTarget opened, open_to_write(options.image, lock));
  const std::string before = opened.tables->mount_options();
  E4R_TRY(const std::string after, lazyinit::with_init_itable(before, *wanted));
  if (after != before) {
    E4R_CHECK(opened.tables->set_mount_options(after));
    E4R_CHECK(opened.tables->flush());
    E4R_CHECK(opened.target->sync());
  }
  print_line("{}: mount options in the superblock: {}{}", opened.target->path(),
             options.image.dry_run ? "would be " : "", quote(after));
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

namespace cmd_rearm {
namespace {

struct Options {
  ImageOptions image;
  std::string groups;
};

// Lets tune2fs do the work if it can. Returns false if it cannot.
Result<bool> handed_over(const Options& options, const lazyinit::ImageLock& lock) {
  if (options.image.dry_run) return false;
  const auto tune2fs = tune2fs_with("rearm");
  if (!tune2fs) return false;
  GroupRange range;
  {
    E4R_TRY(const OpenedTarget opened, open_to_judge(options.image));
    E4R_CHECK(need_checksums(opened));
    const auto parsed = parse_groups(options.groups, opened.tables->file_system().groups);
    if (!parsed.ok()) return false;  // the command line is wrong; the caller reports it
    range = *parsed;
  }
  E4R_CHECK(run_itable(*tune2fs, fmt::format("rearm:{}-{}", range.first, range.last), options.image,
                       lock));
  E4R_TRY(const OpenedTarget opened, open_to_judge(options.image));
  print_line("{}: rearmed by {}; {} to zero now", opened.target->path(), *tune2fs,
             format_size(lazyinit::take_inventory(opened.tables->tables()).bytes_to_do));
  return true;
}

Result<int> run(const Options& options) {
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const bool done, handed_over(options, lock));
  if (done) return kDone;
  E4R_TRY(const OpenedTarget opened, open_to_write(options.image, lock));
  E4R_CHECK(need_checksums(opened));
  const auto tables = opened.tables->tables();
  const auto range = parse_groups(options.groups, opened.tables->file_system().groups);
  if (!range.ok()) return usage_error(range.error().message);
  std::vector<std::uint32_t> flagged;
  for (std::uint32_t group = range->first; group <= range->last; ++group)
    if (tables[group].zeroed) flagged.push_back(group);
  E4R_CHECK(lazyinit::retract(*opened.target, *opened.tables, flagged));
  print_line("{}: {}cleared ITABLE_ZEROED of {}; {} to zero now", opened.target->path(),
             would(options.image), groups_text(flagged.size()),
             format_size(lazyinit::take_inventory(opened.tables->tables()).bytes_to_do));
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
