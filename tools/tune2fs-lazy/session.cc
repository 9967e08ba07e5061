// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/session.h"

#include <chrono>
#include <cmath>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "lazyinit/in_use.h"
#include "lazyinit/layered_targets.h"
#include "lazyinit/place.h"
#include "util/units.h"

namespace e4r::tools {

using lazyinit::FileSystem;
using lazyinit::Tables;
using lazyinit::Target;

void declare_image(CommandLine& app, ImageOptions& options, bool writes) {
  app.add_option("image", options.image,
                 "ext4 image or block device; LABEL=, UUID= and IMAGE?offset=N as for tune2fs")
      .required()
      .type_name("IMAGE");
  if (!writes) return;
  app.add_flag("--dry-run", options.dry_run,
               "do everything except writing, and report the outcome");
  app.add_option("--undo", options.undo, "keep what is overwritten in FILE, for e2undo")
      .type_name("FILE");
}

Result<OpenedTarget> open_to_read(const ImageOptions& options) {
  OpenedTarget opened;
  E4R_TRY(opened.target, Target::open(options.image, Target::Access::read));
  E4R_TRY(opened.tables, Tables::open(*opened.target, Target::Access::read));
  const auto use = lazyinit::find_use(options.image);
  if (use.ok() && *use && (*use)->mounted)
    warn(options.image +
         " is mounted: data that the kernel has not written back yet is not visible");
  else if (!use.ok() || *use)
    warn(options.image + " is in use: data that has not been written back yet is not visible");
  else if (opened.tables->file_system().needs_recovery)
    warn(options.image + ": its journal has not been replayed: run e2fsck for the true state");
  return opened;
}

Result<lazyinit::ImageLock> lock_image(const ImageOptions& options) {
  lazyinit::ImageLock lock;
  if (!options.dry_run) {
    E4R_TRY(lock, lazyinit::ImageLock::take(options.image));
  }
  E4R_CHECK(lazyinit::check_not_in_use(options.image));
  return lock;
}

Result<std::unique_ptr<Target>> open_target(const ImageOptions& options,
                                            const lazyinit::ImageLock& /*lock*/) {
  if (options.dry_run) {
    E4R_TRY(auto below, Target::open(options.image, Target::Access::read));
    return std::unique_ptr<Target>(new lazyinit::ScratchTarget(std::move(below)));
  }
  E4R_TRY(auto target, Target::open(options.image, Target::Access::write));
  E4R_TRY(target, lazyinit::hold_mmp(std::move(target)));
  if (options.undo.empty()) return target;
  return lazyinit::keep_undo(std::move(target), options.undo);
}

Result<OpenedTarget> open_to_judge(const ImageOptions& options) {
  OpenedTarget opened;
  E4R_TRY(opened.target, Target::open(options.image, Target::Access::read));
  E4R_TRY(opened.tables, Tables::open(*opened.target, Target::Access::write));
  return opened;
}

Result<OpenedTarget> open_to_write(const ImageOptions& options, const lazyinit::ImageLock& lock) {
  if (!options.undo.empty()) {
    // A refusal must not leave an undo file behind, so the file system is checked first.
    E4R_TRY(const OpenedTarget judged, open_to_judge(options));
  }
  OpenedTarget opened;
  E4R_TRY(opened.target, open_target(options, lock));
  E4R_TRY(opened.tables, Tables::open(*opened.target, Target::Access::write));
  return opened;
}

Result<OpenedTarget> open_to_look(const ImageOptions& options, const lazyinit::ImageLock& lock) {
  ImageOptions without_undo = options;
  without_undo.undo.clear();
  return open_to_write(without_undo, lock);
}

const char* name_of(FileSystem::Checksums checksums) {
  switch (checksums) {
    case FileSystem::Checksums::none:
      break;
    case FileSystem::Checksums::uninit_bg:
      return "uninit_bg";
    case FileSystem::Checksums::metadata_csum:
      return "metadata_csum";
  }
  return "none";
}

std::string describe(const OpenedTarget& opened) {
  const FileSystem fs = opened.tables->file_system();
  const bool checked = fs.checksums != FileSystem::Checksums::none;
  return fmt::format("{}: {}, {} blocks, {}, {}", opened.target->path(),
                     format_size(fs.blocks * fs.block_size), format_size(fs.block_size),
                     groups_text(fs.groups), checked ? name_of(fs.checksums) : "no checksums");
}

void warn_of_partial_block(const OpenedTarget& opened) {
  const FileSystem fs = opened.tables->file_system();
  if (!opened.tables->has_group_checksums() || !fs.ends_within_block()) return;
  std::uint64_t refused = 0;
  for (const lazyinit::Table& table : opened.tables->tables())
    refused += !table.zeroed && table.unused_part.length == 0;
  std::string text = fmt::format(
      "{}: the {} inodes of a group end within a block: the kernel's thread leaves that block of "
      "each table as it is, and flags the table",
      opened.target->path(), fs.inodes_per_group);
  if (refused != 0)
    text += fmt::format("; in {} it finds an error (EXT4-fs error, ext4_init_inode_table)",
                        groups_text(refused));
  warn(text + ": let finish do it, unmounted");
}

Status need_checksums(const OpenedTarget& opened) {
  if (opened.tables->has_group_checksums()) return {};
  return error(
      "{} has neither uninit_bg nor metadata_csum: nothing in it is lazy (`tune2fs-lazy enable` "
      "changes that)",
      opened.target->path());
}

Result<GroupRange> parse_groups(const std::string& text, std::uint32_t count) {
  if (text.empty()) return GroupRange{0, count - 1};
  const Error wrong =
      error("--groups {}: give a group or a range such as 3-9 or 100-, up to {}", text, count - 1);
  const std::size_t dash = text.find('-');
  const auto first = parse_u64(text.substr(0, dash));
  if (!first.ok()) return wrong;
  std::uint64_t last = *first;
  if (dash == text.size() - 1) {
    last = count - 1;
  } else if (dash != std::string::npos) {
    const auto parsed = parse_u64(text.substr(dash + 1));
    if (!parsed.ok()) return wrong;
    last = *parsed;
  }
  if (*first > last || last >= count) return wrong;
  return GroupRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(last)};
}

std::string groups_text(std::uint64_t count) {
  return fmt::format("{} group{}", format_count(count), count == 1 ? "" : "s");
}

std::string duration_text(double seconds) {
  if (seconds < 1) return "under 1 s";
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48ul * 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days {} h", format_count(whole / 86400), whole / 3600 % 24);
}

using lazyinit::ZeroOutcome;
using lazyinit::ZeroProgress;

namespace {

using Steady = std::chrono::steady_clock;

std::string progress_text(const ZeroProgress& at, Steady::time_point start) {
  const double seconds = std::chrono::duration<double>(Steady::now() - start).count();
  const double share = at.bytes_total == 0 ? 1
                                           : static_cast<double>(at.bytes_done) /
                                                 static_cast<double>(at.bytes_total);
  constexpr int kWidth = 24;
  const auto full = static_cast<std::size_t>(share * kWidth);
  std::string text = fmt::format("[{}{}] {:5.1f} %  {} of {} groups", std::string(full, '#'),
                                 std::string(kWidth - full, '.'), share * 100,
                                 format_count(at.groups_done), format_count(at.groups_total));
  if (at.bytes_done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(at.bytes_done) / seconds;
  return text +
         fmt::format("  {}/s  {} left", format_size(static_cast<std::uint64_t>(rate)),
                     duration_text(static_cast<double>(at.bytes_total - at.bytes_done) / rate));
}

}  // namespace

Status may_believe_zeros(const ImageOptions& options, bool trust_discard) {
  const std::string file = lazyinit::place_of(options.image).file;
  if (trust_discard || lazyinit::look_at_storage(file).zeros_last) return {};
  return error(
      "{}: --probe: what this device has discarded may read as zeros now and as old data later: "
      "leave out --probe, or add --trust-discard if zeros last on it",
      options.image);
}

std::vector<std::uint32_t> groups_with_unused(const lazyinit::Tables& tables) {
  std::vector<std::uint32_t> groups;
  for (const lazyinit::Table& table : tables.tables())
    if (table.unused_part.length != 0) groups.push_back(table.group);
  return groups;
}

std::vector<std::uint32_t> groups_to_do(const lazyinit::Tables& tables) {
  std::vector<std::uint32_t> groups;
  for (const lazyinit::Table& table : tables.tables())
    if (!table.zeroed) groups.push_back(table.group);
  return groups;
}

Result<ZeroOutcome> zero_with_progress(const OpenedTarget& opened,
                                       std::span<const std::uint32_t> groups,
                                       lazyinit::ZeroOptions options, Progress& progress) {
  options.stop = &stop_on_signals();
  const auto start = Steady::now();
  auto outcome =
      zero_tables(*opened.target, *opened.tables, groups, options, [&](const ZeroProgress& at) {
        if (progress.active()) progress.show(progress_text(at, start));
      });
  progress.wipe();
  return outcome;
}

void print_outcome(const ZeroOutcome& outcome, const ImageOptions& options) {
  if (options.dry_run && outcome.zeroed != 0)
    print_line("{}zeroed {}: at most {}, less if the device can zero without writing or has holes",
               would(options), groups_text(outcome.zeroed), format_size(outcome.bytes_written));
  else if (outcome.zeroed != 0)
    print_line("zeroed {}: {} written as data, {} zeroed without data", groups_text(outcome.zeroed),
               format_size(outcome.bytes_written), format_size(outcome.bytes_zeroed));
  if (outcome.found_zero != 0)
    print_line("{}flagged {} that read as zeros already", would(options),
               groups_text(outcome.found_zero));
  if (outcome.unreadable != 0)
    print_line("{} could not be read and were zeroed", groups_text(outcome.unreadable));
  if (outcome.bytes_avoided != 0)
    print_line("{} of tables needed no writing: in use, holes, or zero already",
               format_size(outcome.bytes_avoided));
}

}  // namespace e4r::tools
