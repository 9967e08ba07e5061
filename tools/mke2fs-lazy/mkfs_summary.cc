// SPDX-License-Identifier: GPL-2.0-or-later
#include "mke2fs-lazy/mkfs_summary.h"

#include "util/escaped.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using lazyinit::MkfsOptions;
using lazyinit::MkfsOutcome;
using lazyinit::TableInit;

std::string tables_line(const MkfsOutcome& o) {
  std::string text = fmt::format("{} groups: {} tables zeroed, {} found zero, {} lazy",
                                 format_count(o.groups), format_count(o.zeroing.zeroed),
                                 format_count(o.zeroing.found_zero), format_count(o.lazy));
  if (o.believed != 0) text += fmt::format(", {} believed zero", format_count(o.believed));
  if (o.zeroing.unreadable != 0)
    text +=
        fmt::format("; {} could not be read, and were zeroed", format_count(o.zeroing.unreadable));
  return text;
}

std::string sample_line(const MkfsOptions& options, const MkfsOutcome& o) {
  const lazyinit::Checked& c = o.checked;
  if (options.verify_all || c.blocks == c.blocks_total)
    return fmt::format("verified: all {} blocks read as zeros", format_count(c.blocks));
  return fmt::format("verified: a sample of {} blocks of {} reads as zeros (seed {})",
                     format_count(c.blocks), format_count(c.blocks_total), o.seed);
}

std::string tables_bytes(const MkfsOutcome& o) {
  return fmt::format(
      "{} of inode tables: {} written, {} zeroed by the storage, {} avoided, {} left for later",
      format_size(o.table_bytes), format_size(o.zeroing.bytes_written),
      format_size(o.zeroing.bytes_zeroed), format_size(o.table_bytes_avoided),
      format_size(o.table_bytes_later));
}

std::string journal_bytes(const MkfsOutcome& o) {
  return fmt::format("{} of journal: {} written, {} zeroed by the storage, {} avoided",
                     format_size(o.journal_bytes), format_size(o.journal_written),
                     format_size(o.journal_zeroed), format_size(o.journal_avoided));
}

}  // namespace

std::string mkfs_summary(const MkfsOptions& options, const MkfsOutcome& outcome,
                         const Place& place) {
  std::string text;
  const auto line = [&text](const std::string& words) {
    text += "mke2fs-lazy: " + escaped(words) + "\n";
  };
  if (options.changes_tables() && outcome.group_checksums) {
    line(tables_line(outcome));
    if (outcome.believed != 0) line(sample_line(options, outcome));
    line(tables_bytes(outcome));
  }
  if (outcome.journal_bytes != 0) line(journal_bytes(outcome));
  if (options.init_itable) line("mount options in the superblock: " + options.init_itable->text());
  if (!place.device)
    line(fmt::format("{} allocated of the {} of {}", format_size(place.allocated),
                     format_size(place.size), place.path));
  const bool sparse = !place.device && place.allocated < outcome.table_bytes;
  if (outcome.lazy != 0 && options.init == TableInit::lazy && sparse)
    line("holes of the file read as zeros: itable_init=probe would mark their tables at no cost");
  return text;
}

}  // namespace e4r::tools
