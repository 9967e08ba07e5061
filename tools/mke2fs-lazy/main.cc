// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
#include "common/completion.h"
#include "common/native.h"
#include "common/print_line.h"
#include "common/run.h"
#include "common/version.h"
#include "lazyinit/in_use.h"
#include "lazyinit/layered_targets.h"
#include "lazyinit/mkfs.h"
#include "lazyinit/mkfs_options.h"
#include "lazyinit/place.h"
#include "mke2fs-lazy/rehearsal.h"
#include "util/progress.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using completion::ValueCompletion;
using lazyinit::MkfsOptions;
using lazyinit::MkfsOutcome;
using lazyinit::TableInit;
using lazyinit::Tables;
using lazyinit::Target;

constexpr const char* kHelp =
    "mke2fs-lazy: mke2fs with control over the initialisation of inode tables\n"
    "Usage: mke2fs-lazy [mke2fs options] [-E KEY=VALUE,...] DEVICE [SIZE]\n"
    "\n"
    "Accepts every option of mke2fs(8) and passes it on. These keys of -E are its own:\n"
    "  itable_init=lazy       leave all tables to the kernel, or to tune2fs-lazy finish\n"
    "  itable_init=zero       zero all tables now, in the cheapest way available\n"
    "  itable_init=discard    release their blocks, so that they read as zeros\n"
    "  itable_init=write      write zeros, into holes of a file too\n"
    "  itable_init=probe      mark what reads as zeros, zero the rest\n"
    "  itable_init=prezeroed  mark all, once a sample has read as zeros\n"
    "  verify=full            with prezeroed: read everything, not a sample\n"
    "  itable_threads=N       with zero, discard, write, probe and prezeroed\n"
    "  trust_discard          with probe and prezeroed: discarded blocks of the device always\n"
    "                         read as zeros, so mke2fs may discard\n"
    "  write_unreadable       with zero, write and probe: blocks that cannot be read before they\n"
    "                         were written (dm-integrity without wipe) get zeros first\n"
    "  init_itable=N          how slowly the kernel zeroes, kept in the superblock:\n"
    "                         it sleeps N times as long as it works\n"
    "  noinit_itable          the kernel leaves the tables alone\n"
    "\n"
    "Examples:\n"
    "  mke2fs-lazy -t ext4 -E itable_init=probe disk.img 1T\n"
    "  mke2fs-lazy -t ext4 -E itable_init=zero,itable_threads=4 /dev/sdb1\n"
    "  mke2fs-lazy -t ext4 -E itable_init=prezeroed,verify=full /dev/sdb1\n"
    "  mke2fs-lazy -t ext4 -E itable_init=lazy,init_itable=20 /dev/sdb1\n"
    "\n"
    "Exit status: mke2fs's own if it fails; 1 if the tables could not be initialised as\n"
    "requested, 2 for a wrong command line.\n";

std::atomic<bool> stop = false;

void ask_to_stop(int) {
  stop = true;
}

void complain(const std::string& message) {
  print_line(stderr, "mke2fs-lazy: {}", message);
}

// mke2fs derives the file system type from the name under which it is called, so mkfs.ext4-lazy
// calls it mkfs.ext4.
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
  if (options.write_unreadable) E4R_CHECK(lazyinit::write_unused_bitmaps(target));
  E4R_TRY(const std::unique_ptr<Tables> tables, Tables::open(target, Target::Access::write));
  std::vector<lazyinit::ByteRange> journal;
  if (options.changes_tables() && !options.journal_word) {
    E4R_TRY(journal, lazyinit::journal_ranges(target));
  }
  Progress progress(!options.quiet);
  return lazyinit::finish_mkfs(
      target, *tables, journal, options, choose_seed(), &stop,
      [&progress](const lazyinit::ZeroProgress& p) {
        progress.show(fmt::format("inode tables: {} of {} groups", format_count(p.groups_done),
                                  format_count(p.groups_total)));
      });
}

// Returns why the outcome is not the requested one, or "" if it is.
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

// Locks the device if it already exists. The lock is held from before mke2fs starts until the end.
// Returns an empty lock if the path is neither an image nor a device, because mke2fs itself reports
// that.
Result<lazyinit::ImageLock> lock_device(const MkfsOptions& options) {
  std::error_code failed;
  const auto type = std::filesystem::status(options.device, failed).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::block)
    return lazyinit::ImageLock();
  E4R_TRY(lazyinit::ImageLock lock, lazyinit::ImageLock::take(options.device));
  E4R_CHECK(lazyinit::check_not_in_use(options.device));
  return lock;
}

// Opens the new file system for writing as mke2fs would: continues its undo file, and makes sure
// that no other host uses the file system (hold_mmp()).
Result<std::unique_ptr<Target>> open_made(const MkfsOptions& options, const UndoFile& undo) {
  E4R_TRY(std::unique_ptr<Target> target,
          Target::open(lazyinit::name_of({options.device, options.offset}), Target::Access::write));
  E4R_TRY(target, lazyinit::hold_mmp(std::move(target)));
  const auto file = undo.made();
  if (!file) return target;
  if (options.offset != 0)
    return error(
        "mke2fs has made the undo file {}, and libext2fs cannot continue one at an offset: the "
        "tables were left alone, and the kernel or tune2fs-lazy finish will zero them",
        *file);
  return lazyinit::continue_undo(std::move(target), *file);
}

Result<int> after_mke2fs(const MkfsOptions& options, lazyinit::ImageLock lock,
                         const UndoFile& undo) {
  if (!lock.held()) {
    E4R_TRY(lock, lock_device(options));
  }
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, ask_to_stop);
  E4R_TRY(const std::unique_ptr<Target> target, open_made(options, undo));
  E4R_TRY(const MkfsOutcome outcome, finish(*target, options));
  if (!options.quiet) print_outcome(options, outcome, *target);
  const std::string missed = shortcoming(options, outcome, target->path());
  if (missed.empty()) return kDone;
  std::fflush(stdout);
  complain(missed);
  return kFailed;
}

// Checks the tables that mke2fs itself had to initialise.
Result<int> judge_mke2fs(const std::string& mke2fs, const MkfsOptions& options) {
  E4R_TRY(const auto target,
          Target::open(lazyinit::name_of({options.device, options.offset}), Target::Access::read));
  E4R_TRY(const std::unique_ptr<Tables> tables, Tables::open(*target, Target::Access::read));
  if (!tables->has_group_checksums()) {
    if (!options.quiet) print_line("mke2fs-lazy: done by {}", mke2fs);
    return kDone;
  }
  const auto all = static_cast<std::uint64_t>(tables->tables().size());
  const auto flagged =
      static_cast<std::uint64_t>(std::ranges::count_if(tables->tables(), &lazyinit::Table::zeroed));
  if (!options.quiet)
    print_line("mke2fs-lazy: done by {}: {} groups, {} of them flagged, {} lazy", mke2fs,
               format_count(all), format_count(flagged), format_count(all - flagged));
  if (flagged == (options.init == TableInit::lazy ? 0 : all)) return kDone;
  return error("{}: itable_init={} has flagged {} of {} groups", mke2fs, name_of(options.init),
               format_count(flagged), format_count(all));
}

// Does the work that is left after mke2fs has initialised the tables itself: sets the mount option.
Result<int> after_native(const std::string& mke2fs, const MkfsOptions& options,
                         lazyinit::ImageLock lock, const UndoFile& undo) {
  if (options.init_itable) {
    MkfsOptions rest = options;
    rest.init = TableInit::keep;
    E4R_TRY(const int done, after_mke2fs(rest, std::move(lock), undo));
    if (done != kDone) return done;
  }
  return judge_mke2fs(mke2fs, options);
}

// Returns how to complete the value of mke2fs's own option `letter`: with files, or with file
// system types.
ValueCompletion value_of(char letter) {
  ValueCompletion out;
  switch (letter) {
    case 'E':
    case 'R':  // the old name of -E
      out = {ValueCompletion::Kind::words, {}, true};
      for (const std::string& key : lazyinit::mkfs_keys()) out.words.push_back({key});
      break;
    case 't':
      out = {ValueCompletion::Kind::words, {{"ext2"}, {"ext3"}, {"ext4"}}};
      break;
    case 'd':
    case 'l':
    case 'z':
      out = {ValueCompletion::Kind::file};
      break;
    default:
      break;
  }
  return out;
}

completion::Option flag(std::string name, std::string meaning) {
  completion::Option out;
  out.names = {std::move(name)};
  out.meaning = std::move(meaning);
  return out;
}

// The options of the command line, for completion: mke2fs's letters, and our keys of -E.
completion::Node mkfs_options_node() {
  completion::Node out;
  out.name = "mke2fs-lazy";
  out.options = {flag("--help", "list the options in addition to mke2fs's"),
                 flag("--version", "version and commit")};
  const std::string_view letters = lazyinit::mkfs_letters();
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == ':') continue;
    completion::Option option =
        flag(std::string("-") + letters[i],
             letters[i] == 'E' ? "extended options, mke2fs's and ours" : "as in mke2fs(8)");
    if (i + 1 < letters.size() && letters[i + 1] == ':') {
      option.takes = completion::Option::Takes::value;
      option.placeholder = "VALUE";
      option.value = value_of(letters[i]);
    }
    out.options.push_back(std::move(option));
  }
  out.operands = {{"DEVICE", {ValueCompletion::Kind::file}}, {"SIZE", {}}};
  return out;
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

int refuse(const Error& why, int status) {
  complain(why.message);
  return status;
}

// After a failure, suggests write_unreadable if the device cannot be read.
void advise(const MkfsOptions& options) {
  if (!options.changes_tables() || options.write_unreadable) return;
  const auto target = Target::open(options.device, Target::Access::read);
  if (!target.ok()) return;
  if (const auto byte = lazyinit::find_unreadable(**target))
    complain(fmt::format(
        "{} cannot be read at byte {}: if its blocks can be read only after they were written "
        "(dm-integrity without wipe), give -E itable_init=zero,write_unreadable",
        options.device, *byte));
}

// Runs mke2fs and returns its exit status.
int run_mke2fs(const std::string& mke2fs, const std::string& name, const MkfsOptions& options) {
  std::vector<std::string> command = {name};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  if (!options.ours || options.version) return refuse(become(mke2fs, command), kFailed);
  const auto status = run_child(mke2fs, command);
  return status.ok() ? *status : refuse(status.error(), kFailed);
}

// Makes the device readable before mke2fs starts, for write_unreadable.
Status prepare(const std::string& mke2fs, const std::string& name, const MkfsOptions& options) {
  E4R_TRY(const MadeReadable made, make_readable(mke2fs, name, options));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (made.block_size != 0 && made.block_size < page)
    complain(fmt::format(
        "warning: blocks of {} bytes are smaller than a page of {}: e2fsck reads whole pages, and "
        "cannot read one that has a block without data: give -b {}",
        made.block_size, page, page));
  if (!options.quiet)
    print_line("mke2fs-lazy: {} could not be read, and got zeros before mke2fs",
               format_size(made.written));
  std::fflush(stdout);
  return {};
}

int make(const std::string& name, MkfsOptions options) {
  const auto mke2fs = find_mke2fs();
  if (!mke2fs.ok()) return refuse(mke2fs.error(), kFailed);
  Result<lazyinit::ImageLock> lock = lazyinit::ImageLock();
  const bool only_mke2fs = !options.ours || options.dry_run || options.version;
  if (!only_mke2fs) lock = lock_device(options);
  if (!lock.ok()) return refuse(lock.error(), kFailed);
  const bool native = lazyinit::mke2fs_can(options, [&] { return methods_of_mke2fs(*mke2fs); });
  const lazyinit::Storage storage = lazyinit::look_at_storage(options.device);
  const Status fits = native ? add_for_native(options, storage) : add_for_storage(options, storage);
  if (!fits.ok()) return refuse(fits.error(), kUsage);
  if (only_mke2fs) {
    const int status = run_mke2fs(*mke2fs, name, options);
    if (status == 0 && !options.quiet)
      print_line("mke2fs-lazy: -n: nothing was made, so there is nothing to initialise");
    return status;
  }
  if (options.write_unreadable) {
    const Status ready = prepare(*mke2fs, name, options);
    if (!ready.ok()) return refuse(ready.error(), kFailed);
  }
  const UndoFile undo(options);
  const int status = run_mke2fs(*mke2fs, name, options);
  if (status != 0) {
    advise(options);
    return status;
  }
  const auto done = native ? after_native(*mke2fs, options, *std::move(lock), undo)
                           : after_mke2fs(options, *std::move(lock), undo);
  if (done.ok()) return *done;
  const int failed =
      refuse(error("{} (mke2fs itself had finished)", done.error().message), kFailed);
  advise(options);
  return failed;
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
  auto options = lazyinit::parse_mkfs_options(words);
  if (!options.ok()) return refuse(options.error(), kUsage);
  return make(name_for_mke2fs(argc > 0 ? argv[0] : "mke2fs"), *std::move(options));
}

}  // namespace
}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::run_guarded("mke2fs-lazy", e4r::tools::run, argc, argv);
}
