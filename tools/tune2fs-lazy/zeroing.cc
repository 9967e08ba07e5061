// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/zeroing.h"

#include <chrono>

#include "common/print_line.h"
#include "common/stop.h"
#include "lazyinit/place.h"
#include "lazyinit/storage.h"
#include "util/units.h"

namespace e4r::tools {

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

Result<ZeroOutcome> zero_with_progress(const Session& session,
                                       std::span<const std::uint32_t> groups,
                                       lazyinit::ZeroOptions options, Progress& progress) {
  options.stop = &stop_on_signals();
  const auto start = Steady::now();
  auto outcome =
      zero_tables(*session.target, *session.tables, groups, options, [&](const ZeroProgress& at) {
        if (progress.active()) progress.show(progress_text(at, start));
      });
  progress.wipe();
  return outcome;
}

void print_outcome(const ZeroOutcome& outcome, const ImageOptions& options) {
  if (options.dry_run && outcome.zeroed != 0)
    print_line("{}zeroed {}: at most {}, less where the device can or has holes", would(options),
               groups_text(outcome.zeroed), format_size(outcome.bytes_written));
  else if (outcome.zeroed != 0)
    print_line("zeroed {}: {} written as data, {} zeroed without data", groups_text(outcome.zeroed),
               format_size(outcome.bytes_written), format_size(outcome.bytes_zeroed));
  if (outcome.found_zero != 0)
    print_line("{}flagged {} that read as zeros already", would(options),
               groups_text(outcome.found_zero));
  if (outcome.unreadable != 0)
    print_line("{} could not be read and were zeroed unseen", groups_text(outcome.unreadable));
  if (outcome.bytes_avoided != 0)
    print_line("{} of tables needed no writing: in use, holes, or zero already",
               format_size(outcome.bytes_avoided));
}

}  // namespace e4r::tools
