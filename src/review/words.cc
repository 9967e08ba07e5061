// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/json_parts.h"
#include "util/escaped.h"
#include "util/units.h"

namespace e4r::review {
namespace {

// "4K", "512M", "2G".
std::string short_size(std::uint64_t kb) {
  static constexpr std::string_view kUnits = "KMGTPE";
  std::size_t unit = 0;
  for (; kb >= 1024 && unit + 1 < kUnits.size(); ++unit) kb /= 1024;
  return fmt::format("{}{}", kb, kUnits[unit]);
}

std::string counted(std::size_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : more);
}

}  // namespace

std::string side_text(const Side& side) {
  std::string out = escaped(std::string(side.policy->name));
  if (!side.settings.empty())
    out += fmt::format(" with {}", escaped(fmt::format("{}", fmt::join(side.settings, ", "))));
  if (side.policy->verified.empty()) out += " (no kernel was found to decide like this)";
  return out;
}

std::string summary_text(const Review& review) {
  std::size_t captures = 0, aged = 0, alike = 0, answered = 0;
  std::uint64_t requests = 0;
  for (const Case& one : review.cases) {
    if (!one.refused.empty()) continue;
    ++answered;
    (one.aged ? aged : captures) += 1;
    alike += one.alike ? 1 : 0;
    if (!one.aged) requests += one.decisions;
  }
  std::string out = fmt::format("Both decide {} of recorded kernels ({} decisions) and age {}.",
                                counted(captures, "capture", "captures"), format_count(requests),
                                counted(aged, "file system", "file systems"));
  if (alike > 0)
    out += fmt::format(" In {} of these {} they decide every request alike.", alike, answered);
  out += " A replay has no noise: the same input gives the same figures.";
  if (review.timed)
    out +=
        " Times are of the kernel's code alone, with one writer and no disk; they differ from run "
        "to run.";
  out += fmt::format(" Listed are changes of {:.0f} % and more", 100 * kWorthTelling);
  if (review.timed) out += fmt::format(", of times {:.0f} %", 100 * kWorthTellingOfTimes);
  return out + ", the largest first" + (review.timed ? ", times last." : ".");
}

std::string inputs_note(const Review& review) {
  std::string out =
      "\"Followed\" is the share of the recorded decisions that the model of the recorded kernel "
      "makes as well, from the same requests. It says what the answers for that capture are worth.";
  if (std::ranges::any_of(review.cases, &Case::aged))
    out +=
        " Aged file systems are filled by drawn operations, the same ones for both, and no kernel "
        "recorded them.";
  return out;
}

std::string shape_text(const Case& one) {
  return format_size(one.bytes) + ", " + format_size(one.block_size);
}

std::string followed_text(const Case& one) {
  if (one.decisions == 0) return "-";
  if (one.followed == one.decisions) return "100 %";
  return fmt::format("{:.3f} %", std::floor(percent_of(one.followed, one.decisions) * 1000) / 1000);
}

double percent_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

std::string range_text(std::size_t bucket, std::uint32_t block_size) {
  const std::uint64_t block_kb = block_size / 1024;
  const std::string from = short_size(report::bucket_kb(bucket, block_kb));
  if (bucket + 1 == stats::FreeExtents::kBuckets) return from + "...";
  return fmt::format("{:>5}...{:>6}-", from, short_size(report::bucket_kb(bucket + 1, block_kb)));
}

}  // namespace e4r::review
