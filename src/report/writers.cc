// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/writers.h"

#include <algorithm>

#include "util/escaped.h"
#include "util/text_table.h"
#include "util/units.h"

namespace e4r::report {
namespace {

constexpr std::string_view kLeftOut =
    "A simulation. The allocator decides a request when its writer makes it. A writer thinks for "
    "as long as the\nrecorded one did, and takes the locks of fs/ext4/mballoc.c as the code does. "
    "The simulation leaves out all\nother locks, the locks of frees, and what CPUs cost each other "
    "besides the cache lines of a shared group.\n";

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// The locks that make up most of what was waited.
std::string dearest(const contention::Outcome& outcome) {
  constexpr std::size_t kMost = 2;
  constexpr double kLeast = 0.0005;  // what would be shown as 0.0 %
  std::string out;
  std::size_t told = 0;
  for (const auto& [name, waits] : outcome.waits) {
    const double share = outcome.share_waited(waits);
    if (told++ == kMost || share < kLeast) break;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", escaped(name), percent(share));
  }
  return out.empty() ? "-" : out;
}

}  // namespace

bool has_writers(const ReplayReport& report) {
  return std::ranges::any_of(report.runs,
                             [](const results::Outcome& run) { return !run.by_writers.empty(); });
}

std::string writers_text(const ReplayReport& report) {
  if (!has_writers(report)) return {};
  TextTable table;
  table.row({"many writers", "writers", "CPUs", "requests/s", "of the first", "extents per file",
             "seek, KB", "waiting", "for"});
  table.rule();
  for (const results::Outcome& run : report.runs) {
    std::string name(run.policy->name);
    for (const results::Outcome& by : run.by_writers) {
      const contention::Outcome& outcome = *by.writers;
      const double first = run.by_writers.front().writers->requests_per_second();
      const double rate = outcome.requests_per_second();
      table.row(
          {std::exchange(name, {}), format_count(outcome.writers), format_count(outcome.cpus),
           format_count(static_cast<std::uint64_t>(rate)),
           first == 0 ? "-" : fmt::format("x{:.2f}", rate / first),
           fmt::format("{:.2f}", by.files.extents_per_file()),
           format_count(by.layout.distance_kb(by.layout.files, report.superblock.block_size())),
           percent(outcome.share_waited(outcome.all_waits())), dearest(outcome)});
    }
  }
  return "\n" + table.text() + std::string(kLeftOut);
}

}  // namespace e4r::report
