// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "common/child.h"
#include "common/command.h"
#include "common/guarded.h"
#include "common/print_line.h"
#include "common/version.h"
#include "lazyinit/in_use.h"
#include "lazyinit/journal.h"
#include "lazyinit/lock.h"
#include "lazyinit/mkfs.h"
#include "mke2fs-lazy/completion.h"
#include "mke2fs-lazy/mkfs_summary.h"
#include "util/progress.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using lazyinit::MkfsOptions;
using lazyinit::MkfsOutcome;
using lazyinit::TableInit;
using lazyinit::Tables;
using lazyinit::Target;

constexpr const char* kHelp =
    "mke2fs-lazy: mke2fs, with a say in what becomes of the inode tables\n"
    "Usage: mke2fs-lazy [mke2fs options] [-E KEY=VALUE,...] DEVICE [SIZE]\n"
    "\n"
    "Takes every option of mke2fs(8) and hands it on. These keys of -E are its own:\n"
    "  itable_init=lazy       leave all tables to the kernel, or to tune2fs-lazy finish\n"
    "  itable_init=zero       zero them all now, by the cheapest means there is\n"
    "  itable_init=probe      mark what reads as zeros, zero the rest\n"
    "  itable_init=prezeroed  mark all, once a sample has read as zeros\n"
    "  verify=full            with prezeroed: read everything, not a sample\n"
    "  itable_threads=N       with zero, probe and prezeroed\n"
    "  init_itable=N          how slowly the kernel zeroes, kept in the superblock:\n"
    "                         it sleeps N times as long as it works\n"
    "  noinit_itable          the kernel leaves the tables alone\n"
    "\n"
    "Examples:\n"
    "  mke2fs-lazy -t ext4 -E itable_init=probe disk.img 1T\n"
    "  mke2fs-lazy -t ext4 -E itable_init=zero,itable_threads=4 /dev/sdb1\n"
    "  mke2fs-lazy -t ext4 -E nodiscard,itable_init=prezeroed,verify=full /dev/sdb1\n"
    "  mke2fs-lazy -t ext4 -E itable_init=lazy,init_itable=20 /dev/sdb1\n"
    "\n"
    "Exit status: mke2fs's own when that fails; 1 the tables could not be done as asked, 2 wrong\n"
    "command line.\n";

std::atomic<bool> stop = false;

void ask_to_stop(int) {
  stop = true;
}

void complain(const std::string& message) {
  print_line(stderr, "mke2fs-lazy: {}", message);
}

// mkfs.ext4-lazy is mkfs.ext4 to mke2fs, which takes the file-system type from its name.
std::string name_for_mke2fs(const char* argv0) {
  std::string name = argv0;
  name.erase(0, name.find_last_of('/') + 1);
  if (name.ends_with("-lazy")) name.resize(name.size() - std::strlen("-lazy"));
  return name.starts_with("mkfs.") ? name : "mke2fs";
}

std::uint64_t choose_seed() {
  if (const char* fixed = std::getenv("E4R_SEED"); fixed != nullptr) {
    const auto seed = parse_u64(fixed);
    if (seed.ok()) return *seed;
  }
  return std::random_device()();
}

Result<MkfsOutcome> finish(Target& target, const MkfsOptions& options) {
  E4R_TRY(const std::unique_ptr<Tables> tables, Tables::open(target, Target::Access::write));
  std::vector<lazyinit::ByteRange> journal;
  if (options.journal) {
    E4R_TRY(journal, lazyinit::journal_ranges(target.path()));
  }
  Progress progress(!options.quiet);
  return lazyinit::finish_mkfs(
      target, *tables, journal, options, choose_seed(), &stop,
      [&progress](const lazyinit::ZeroProgress& p) {
        progress.show(fmt::format("inode tables: {} of {} groups", format_count(p.groups_done),
                                  format_count(p.groups_total)));
      });
}

// What keeps the outcome from being what was asked for.
std::string shortcoming(const MkfsOptions& options, const MkfsOutcome& outcome,
                        const std::string& path) {
  if (outcome.zeroing.stopped)
    return fmt::format("stopped: {} tables are left for the kernel or tune2fs-lazy finish",
                       format_count(outcome.lazy));
  if (const auto& bad = outcome.checked.bad)
    return fmt::format(
        "{} is not prezeroed: byte {}, in {}, {}; no table is marked, "
        "the kernel or tune2fs-lazy finish will zero them",
        path, bad->offset,
        bad->group ? fmt::format("the inode table of group {}", *bad->group) : "the journal",
        bad->unreadable ? "cannot be read" : "is not zero");
  if (!outcome.group_checksums && options.init == TableInit::lazy)
    return fmt::format(
        "{} has neither metadata_csum nor uninit_bg, so mke2fs had to initialise "
        "all inode tables: give -t ext4 or -O metadata_csum to have lazy ones",
        path);
  return {};
}

void print_outcome(const MkfsOptions& options, const MkfsOutcome& outcome, Target& target) {
  if (options.changes_tables() && !outcome.group_checksums && options.init != TableInit::lazy)
    print_line(
        "mke2fs-lazy: neither metadata_csum nor uninit_bg: mke2fs has initialised all "
        "inode tables, nothing is left for itable_init={}",
        name_of(options.init));
  const auto allocated = target.allocated();
  print_text(mkfs_summary(
      options, outcome,
      {target.path(), target.is_block_device(), target.size(), allocated.ok() ? *allocated : 0}));
}

// Before mke2fs and to the end, when there is something at that name already; mke2fs complains of
// what is neither an image nor a device.
Result<lazyinit::ImageLock> lock_device(const MkfsOptions& options) {
  std::error_code failed;
  const auto type = std::filesystem::status(options.device, failed).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::block)
    return lazyinit::ImageLock();
  E4R_TRY(lazyinit::ImageLock lock, lazyinit::ImageLock::take(options.device));
  E4R_CHECK(lazyinit::check_not_in_use(options.device));
  E4R_CHECK(lazyinit::check_not_held(options.device));
  return lock;
}

Result<int> after_mke2fs(const MkfsOptions& options, lazyinit::ImageLock lock) {
  if (!lock.held()) {
    E4R_TRY(lock, lock_device(options));
  }
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, ask_to_stop);
  E4R_TRY(const std::unique_ptr<Target> target,
          Target::open(options.device, Target::Access::write));
  E4R_TRY(const MkfsOutcome outcome, finish(*target, options));
  if (!options.quiet) print_outcome(options, outcome, *target);
  const std::string missed = shortcoming(options, outcome, target->path());
  if (missed.empty()) return kDone;
  std::fflush(stdout);
  complain(missed);
  return kFailed;
}

int print_completion(const std::string& shell) {
  const auto script = completion::script(shell, mkfs_options_node());
  if (!script.ok()) {
    complain(script.error().message);
    return kUsage;
  }
  print_text(*script);
  return kDone;
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words == std::vector<std::string>{"--help"}) {
    print_text(kHelp);
    return kDone;
  }
  if (words == std::vector<std::string>{"--version"}) {
    print_line("{}", version_line());
    return kDone;
  }
  if (words.size() == 2 && words.front() == "--completion") return print_completion(words.back());
  const auto options = lazyinit::parse_mkfs_options(words);
  const auto mke2fs = find_mke2fs();
  if (!options.ok()) {
    complain(options.error().message);
    return kUsage;
  }
  if (!mke2fs.ok()) {
    complain(mke2fs.error().message);
    return kFailed;
  }
  std::vector<std::string> command = {name_for_mke2fs(argc > 0 ? argv[0] : "mke2fs")};
  command.insert(command.end(), options->arguments.begin(), options->arguments.end());
  if (!options->ours || options->version) {
    complain(become(*mke2fs, command).message);
    return kFailed;
  }
  Result<lazyinit::ImageLock> lock = lazyinit::ImageLock();
  if (!options->dry_run) lock = lock_device(*options);
  if (!lock.ok()) {
    complain(lock.error().message);
    return kFailed;
  }
  const auto status = run_child(*mke2fs, command);
  if (!status.ok()) complain(status.error().message);
  if (!status.ok() || *status != 0) return status.ok() ? *status : kFailed;
  if (options->dry_run) {
    if (!options->quiet) print_line("mke2fs-lazy: -n: nothing was made, so nothing to initialise");
    return kDone;
  }
  const auto done = after_mke2fs(*options, *std::move(lock));
  if (done.ok()) return *done;
  complain(done.error().message + " (mke2fs itself was done)");
  return kFailed;
}

}  // namespace
}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::guarded("mke2fs-lazy", e4r::tools::run, argc, argv);
}
