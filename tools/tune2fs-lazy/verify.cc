// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/verify.h"

#include <memory>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "tune2fs-lazy/session.h"
#include "util/parallel.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_verify {
namespace {

using lazyinit::Lie;
using lazyinit::Verified;

struct Options {
  ImageOptions image;
  std::string fix;     // "", "clear" or "zero"
  std::string groups;  // empty: all
  unsigned threads = 1;
  bool no_progress = false;
};

Result<Verified> look(const Options& options, const OpenedTarget& opened, const GroupRange& range,
                      Progress& progress) {
  const auto tables = opened.tables->tables().subspan(range.first, range.last - range.first + 1);
  auto verified = lazyinit::verify_tables(
      *opened.target, *opened.tables, tables, options.threads, &stop_on_signals(),
      [&progress](const lazyinit::VerifyProgress& at) {
        if (progress.active())
          progress.show(fmt::format("reading: {} of {}", format_size(at.bytes_done),
                                    format_size(at.bytes_total)));
      });
  progress.wipe();
  return verified;
}

void print_lie(const OpenedTarget& opened, const Lie& lie) {
  const lazyinit::Table& table = opened.tables->tables()[lie.group];
  const std::uint64_t inode = std::uint64_t{lie.group} * opened.tables->inodes_per_group() +
                              (lie.offset - table.whole.offset) / opened.tables->inode_size() + 1;
  print_line("group {}: flagged ITABLE_ZEROED, but {} at byte {} (inode {})", lie.group,
             lie.content == lazyinit::Content::unreadable ? "cannot be read" : "is not zero",
             lie.offset, inode);
}

Status fix(const Options& options, const OpenedTarget& opened, const Verified& verified,
           Progress& progress) {
  const std::vector<std::uint32_t> groups = lazyinit::groups_of(verified.lies);
  E4R_CHECK(lazyinit::retract(*opened.target, *opened.tables, groups));
  if (options.fix == "clear") {
    print_line("{}cleared the flag of {}: the kernel, or finish, will zero them again",
               would(options.image), groups_text(verified.lies.size()));
    return {};
  }
  lazyinit::ZeroOptions how;
  how.threads = thread_count(options.threads);
  E4R_TRY(const auto outcome, zero_with_progress(opened, groups, how, progress));
  print_outcome(outcome, options.image);
  if (outcome.stopped)
    return error("stopped: the other groups have lost their flag, and finish does the rest");
  return {};
}

void print_verified(const std::string& path, const Verified& verified) {
  if (verified.checked == 0 && !verified.stopped) {
    print_line("{}: none of the examined groups is flagged ITABLE_ZEROED, so no flag can be false",
               path);
    return;
  }
  print_line("{}: {} of {} flags are false; {} examined, {} of it read", path,
             format_count(verified.lies.size()), format_count(verified.checked),
             format_size(verified.bytes), format_size(verified.read));
  if (!verified.with_deleted.empty())
    print_line(
        "{}: {} of the flagged groups have deleted inodes ({}); that is not wrong, because deleted "
        "inodes do not "
        "count as used",
        path, format_count(verified.with_deleted.size()), format_count(verified.deleted_inodes));
}

Result<int> run(const Options& options) {
  Progress progress(!options.no_progress);
  lazyinit::ImageLock lock;
  if (!options.fix.empty()) {
    E4R_TRY(lock, lock_image(options.image));
  }
  E4R_TRY(const OpenedTarget opened,
          options.fix.empty() ? open_to_read(options.image) : open_to_write(options.image, lock));
  E4R_CHECK(need_checksums(opened));
  warn_of_partial_block(opened);
  const auto range = parse_groups(options.groups, opened.tables->file_system().groups);
  if (!range.ok()) return usage_error(range.error().message);
  E4R_TRY(const Verified verified, look(options, opened, *range, progress));
  for (const Lie& lie : verified.lies) print_lie(opened, lie);
  print_verified(opened.target->path(), verified);
  if (verified.stopped) return error("stopped before all groups were looked at; nothing changed");
  if (verified.lies.empty()) return kDone;
  if (options.fix.empty()) return kDisagreed;
  E4R_CHECK(fix(options, opened, verified, progress));
  return options.image.dry_run ? kDisagreed : kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, true);
  app.add_flag("--fix{clear}", options->fix,
               "clear the flag of groups where it is false; --fix=zero: also zero their tables")
      .one_of({"clear", "zero"});
  app.add_option("--groups", options->groups, "only these: 7, 3-9 or 100-").type_name("A-B");
  app.add_option("--threads", options->threads, "groups at a time (0: one per CPU)").type_name("N");
  app.add_flag("--no-progress", options->no_progress, "no progress line");
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_verify

const Command& verify_command() {
  static const Command kCommand = {
      "verify", "check whether each ITABLE_ZEROED flag is true",
      "  tune2fs-lazy verify disk.img                    exit status 3 if a flag is false\n"
      "  tune2fs-lazy verify --fix disk.img              clear the false flags\n"
      "  tune2fs-lazy verify --fix=zero disk.img         make them true\n",
      cmd_verify::declare};
  return kCommand;
}

}  // namespace e4r::tools
