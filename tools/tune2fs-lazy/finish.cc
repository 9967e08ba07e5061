// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>
#include <memory>
#include <utility>

#include "common/command.h"
#include "common/print_line.h"
#include "lazyinit/kernel_thread.h"
#include "lazyinit/verify.h"
#include "lazyinit/zeroer.h"
#include "tune2fs-lazy/mounted.h"
#include "tune2fs-lazy/session.h"
#include "tune2fs-lazy/tune2fs.h"
#include "util/parallel.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_finish {
namespace {

struct Options {
  ImageOptions image;
  std::string mult, max_rate;
  bool idle = false;
  unsigned threads = 1;
  bool probe = false;
  bool trust_discard = false;
  bool punch = false;
  bool pause_on_battery = false;
  bool no_progress = false;
};

Result<lazyinit::Pace> make_pace(const Options& options, Progress& progress) {
  lazyinit::Pace pace;
  pace.idle = options.idle;
  if (!options.mult.empty()) {
    E4R_TRY(pace.wait_multiplier, lazyinit::parse_multiplier("--mult", options.mult));
  }
  if (!options.max_rate.empty()) {
    E4R_TRY(pace.max_rate, parse_size(options.max_rate));
    if (pace.max_rate == 0) return error("--max-rate 0 would never end: give bytes, such as 50M");
  }
  if (options.pause_on_battery)
    pace.paused = [&progress] {
      if (!lazyinit::on_battery()) return false;
      progress.show("paused: on battery");
      return true;
    };
  return pace;
}

void print_punched(const Options& options, const lazyinit::ZeroOutcome& outcome) {
  print_line("{}punched {}: {} need no blocks now", would(options.image),
             groups_text(outcome.zeroed),
             format_size(outcome.bytes_zeroed + outcome.bytes_written));
}

int report(const Options& options, const OpenedTarget& opened,
           const lazyinit::ZeroOutcome& outcome) {
  if (options.punch)
    print_punched(options, outcome);
  else
    print_outcome(outcome, options.image);
  if (!outcome.stopped) {
    print_line("{}: {}every inode table is initialised", opened.target->path(),
               options.image.dry_run ? "then " : "");
    return kDone;
  }
  const auto left = lazyinit::take_inventory(opened.tables->tables());
  print_line("stopped: {} with {} are left; run the same command again to continue",
             groups_text(left_of(left)), format_size(left.bytes_to_do));
  return kFailed;
}

// Refuses options that the kernel's thread does not support.
Status refuse_mounted(const Options& options) {
  const std::array<std::pair<bool, const char*>, 7> refused = {
      {{!options.max_rate.empty(), "--max-rate"},
       {options.idle, "--idle"},
       {options.threads != 1, "--threads"},
       {options.probe, "--probe"},
       {options.punch, "--punch"},
       {options.pause_on_battery, "--pause-on-battery"},
       {!options.image.undo.empty(), "--undo"}}};
  for (const auto& [given, name] : refused)
    if (given)
      return error(
          "{} is mounted, so the kernel must zero it, and the kernel does not support {}: unmount "
          "it",
          options.image.image, name);
  OpenedTarget opened;
  E4R_TRY(opened.target,
          lazyinit::Target::open(options.image.image, lazyinit::Target::Access::read));
  E4R_TRY(opened.tables, lazyinit::Tables::open(*opened.target, lazyinit::Target::Access::read));
  E4R_CHECK(need_checksums(opened));
  if (opened.tables->file_system().ends_within_block())
    return error(
        "{} is mounted, and the {} inodes of a group end within a block: the kernel would not zero "
        "that block: unmount it",
        options.image.image, opened.tables->inodes_per_group());
  return {};
}

Result<int> run_mounted(const Options& options, const lazyinit::MountedAt& mounted,
                        const lazyinit::Pace& pace) {
  E4R_CHECK(refuse_mounted(options));
  return finish_mounted(options.image.image, mounted,
                        {pace.wait_multiplier, options.image.dry_run, options.no_progress});
}

// Whether an option was given that tune2fs does not have.
bool ours_alone(const Options& options) {
  return !options.mult.empty() || !options.max_rate.empty() || options.idle ||
         options.threads != 1 || options.punch || options.pause_on_battery || options.image.dry_run;
}

// Lets tune2fs do the work if it can. Returns false if it cannot.
Result<bool> handed_over(const Options& options, const lazyinit::ImageLock& lock) {
  if (ours_alone(options)) return false;
  const char* command = options.probe ? "probe" : "finish";
  const auto tune2fs = tune2fs_with(command);
  if (!tune2fs) return false;
  {
    E4R_TRY(const OpenedTarget opened, open_to_judge(options.image));
    E4R_CHECK(need_checksums(opened));
    // tune2fs would not zero the last, partial block: libext2fs counts only whole blocks, like the
    // kernel.
    if (opened.tables->file_system().ends_within_block()) return false;
    if (groups_to_do(*opened.tables).empty()) return false;
  }
  E4R_CHECK(run_itable(*tune2fs, command, options.image, lock));
  E4R_TRY(const OpenedTarget opened, open_to_judge(options.image));
  if (const auto left = groups_to_do(*opened.tables); !left.empty())
    return error("{} has left {}", *tune2fs, groups_text(left.size()));
  print_line("{}: every inode table is initialised, by {}", opened.target->path(), *tune2fs);
  return true;
}

Result<int> run(const Options& options) {
  Progress progress(!options.no_progress);
  auto pace = make_pace(options, progress);
  if (!pace.ok()) return usage_error(pace.error().message);
  if (const auto mounted = lazyinit::find_mount(options.image.image); mounted.ok())
    return run_mounted(options, *mounted, *pace);
  if (options.image.dry_run) *pace = {};  // a dry run need not be slow
  if (options.probe) E4R_CHECK(may_believe_zeros(options.image, options.trust_discard));
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const bool done, handed_over(options, lock));
  if (done) return kDone;
  E4R_TRY(const OpenedTarget opened, open_to_write(options.image, lock));
  E4R_CHECK(need_checksums(opened));
  const auto groups =
      options.punch ? groups_with_unused(*opened.tables) : groups_to_do(*opened.tables);
  if (groups.empty()) {
    print_line("{}: every inode table is initialised already", opened.target->path());
    return kDone;
  }
  lazyinit::ZeroOptions how;
  how.threads = thread_count(options.threads);
  how.probe = options.probe;
  how.by = options.punch ? lazyinit::ZeroBy::punching : lazyinit::ZeroBy::cheapest;
  how.flagged_too = options.punch;
  how.pace = *pace;
  const auto outcome = zero_with_progress(opened, groups, how, progress);
  if (!outcome.ok() && options.punch)
    return error("{}: leave out --punch", outcome.error().message);
  if (!outcome.ok()) return outcome.error();
  return report(options, opened, *outcome);
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, true);
  const DeclaredOption mult =
      app.add_option("--mult", options->mult, "after each group, sleep N times as long as it took")
          .type_name("N");
  app.add_option("--max-rate", options->max_rate, "zero at most this many bytes per second")
      .type_name("SIZE")
      .excludes(mult);
  app.add_flag("--idle", options->idle,
               "only when no other program needs the disk or the processor");
  app.add_option("--threads", options->threads, "groups at a time (0: one per CPU)").type_name("N");
  const DeclaredOption probe =
      app.add_flag("--probe", options->probe, "read first; what reads as zeros is not written");
  app.add_flag("--trust-discard", options->trust_discard,
               "with --probe: discarded blocks of the device always read as zeros")
      .needs(probe);
  app.add_flag("--punch", options->punch,
               "release the blocks: holes in a file, unmapped on a device; all groups")
      .excludes(probe);
  app.add_flag("--pause-on-battery", options->pause_on_battery,
               "wait while the machine runs on battery");
  app.add_flag("--no-progress", options->no_progress, "no progress line");
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_finish

const Command& finish_command() {
  static const Command kCommand = {
      "finish", "zero what is left, throttled and resumable",
      "  tune2fs-lazy finish disk.img --probe            write only what is not zero yet\n"
      "  tune2fs-lazy finish /dev/vg/data --mult 10      as gently as the kernel's default\n"
      "  tune2fs-lazy finish /dev/vg/data --max-rate 50M --pause-on-battery\n"
      "  tune2fs-lazy finish disk.img --punch            and make the tables holes\n"
      "  tune2fs-lazy finish disk.img --dry-run          how much would be written?\n",
      cmd_finish::declare};
  return kCommand;
}

}  // namespace e4r::tools
