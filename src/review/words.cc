// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "guest/kernel_file.h"
#include "report/json_parts.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::review {
namespace {

// Formats a size as "4K", "512M" or "2G".
std::string short_size(std::uint64_t kb) {
  static constexpr std::string_view kUnits = "KMGTPE";
  std::size_t unit = 0;
  for (; kb >= 1024 && unit + 1 < kUnits.size(); ++unit) kb /= 1024;
  return fmt::format("{}{}", kb, kUnits[unit]);
}

std::string count_text(std::size_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : more);
}

// Describes the noise of times: "the mean differs by up to 3.1 %, the median by up to 0.0 %, ...".
// Omits one twentieth of the cases as outliers.
std::string bands_text(const Review& review) {
  std::string out;
  for (const Band& band : review.bands) {
    const char* name = band.key == kMeanTime       ? "the mean"
                       : band.key.ends_with("p50") ? "the median"
                                                   : "the time that 99 % do not exceed";
    out += fmt::format("{}{} {}by up to {:.1f} %", out.empty() ? "" : ", ", name,
                       out.empty() ? "differs " : "", 100 * band.width);
  }
  return out + " (except in a twentieth of the cases)";
}

}  // namespace

std::string side_text(const Side& side) {
  std::string out = escape(std::string(side.policy->name));
  if (!side.settings.empty())
    out += fmt::format(" with {}", escape(fmt::format("{}", fmt::join(side.settings, ", "))));
  if (!side.file || side.file->release.empty())
    return side.policy->compared_with().empty() ? out + " (never compared with a kernel)" : out;
  return out;
}

std::string code_text(const Side& side) {
  if (!side.file) return {};
  const app::PolicyFile& file = *side.file;
  std::string out;
  if (!file.release.empty()) {
    out = "Linux " + escape(file.release);
    const std::string commit = guest::commit_text(file.commit, file.dirty);
    out += fmt::format(", {}, ", commit.empty() ? "no commit is known" : escape(commit));
  }
  return out + fmt::format("CRC-32C {:08x}", file.sum);
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
                                count_text(captures, "capture", "captures"), format_count(requests),
                                count_text(aged, "file system", "file systems"));
  if (alike > 0)
    out += fmt::format(" In {} of these {} they make the same decision for every request.", alike,
                       answered);
  if (review.base.file && review.with.file && review.base.file->sum == review.with.file->sum &&
      review.base.settings == review.with.settings)
    out += " Both are the same code: their checksums are equal.";
  out += " Except for times, a replay has no noise: the same input gives the same figures.";
  const auto varies = [](const Case& one) {
    return std::ranges::any_of(one.figures, [](const Figure& f) { return !luck_text(f).empty(); });
  };
  if (const auto lucky = std::ranges::count_if(review.cases, varies); lucky > 0)
    out += fmt::format(
        " In {}, requests of several writers overlap, and in other orders of them the recorded "
        "policy's figures vary by the percentage after ±: a smaller change is luck.",
        count_text(static_cast<std::size_t>(lucky), "capture", "captures"));
  out += fmt::format(" The lists show changes of {:.0f} % or more", 100 * kWorthTelling);
  if (review.timed) out += fmt::format(", of times {:.0f} %", 100 * kWorthTellingOfTimes);
  return out + ", the largest first" + (review.timed ? ", times last." : ".");
}

std::string times_note(const Review& review) {
  if (!review.timed) return {};
  unsigned repeats = 1;
  for (const Case& one : review.cases) repeats = std::max(repeats, one.repeats);
  std::string out =
      "Times are those of the kernel's code only, with one writer and no disk. Where both make the "
      "same decisions, no time is given.";
  if (repeats > 1)
    out += fmt::format(
        " Elsewhere a time is the median of {} runs in turn, and has changed if it differs by more "
        "than these runs differ and by more than noise.",
        repeats);
  if (!review.bands.empty())
    out += fmt::format(" In {} with the same decisions, {}: that is noise.",
                       count_text(review.bands.front().cases, "case", "cases"), bands_text(review));
  return out + fmt::format(
                   " The guest's clock ticks every {} ns: a difference of one tick does not count "
                   "as a change of a median or of 99 %.",
                   allocator::kGuestTick);
}

std::string way_text(const Review& review, const Summary& summary, Change change) {
  const Summary::Way& way = summary.way(change);
  const bool worse = change == Change::worse;
  const auto by = [&review](const CaseFigure& one) {
    const Figure& figure = review.cases[one.of].figures[one.figure];
    if (std::isinf(size_of(figure))) return "from 0 to " + results::text_of(figure.with);
    return results::change_text(figure.base, figure.with);
  };
  std::string out = fmt::format("{} in {} of {}", worse ? "worse" : "better",
                                format_count(way.count), format_count(summary.cases));
  if (way.count > 1)
    out += fmt::format(", median {}, most", by(way.median));
  else
    out += ",";
  out += fmt::format(" {} in {}", by(way.most), escape(review.cases[way.most.of].name));
  const Summary::Way& other = summary.way(worse ? Change::better : Change::worse);
  if (other.count > 0)
    out += fmt::format("; {} in {}", worse ? "better" : "worse", format_count(other.count));
  return out;
}

std::string failures_text(const Review& review, Change change) {
  const Failures failures = failures_of(review);
  const std::size_t count = failures.of(change).size();
  if (count == 0) return {};
  const bool worse = change == Change::worse;
  std::string out =
      fmt::format("{} failed in {} of {}", escape((worse ? review.with : review.base).policy->name),
                  format_count(count), count_text(review.cases.size(), "case", "cases"));
  if (!worse) return out + ", and --with did not";
  if (failures.both == count) return out + ", and --base as well";
  if (failures.both > 0) return out + fmt::format(", --base in {} of these", failures.both);
  return out + ", and --base did not";
}

std::string nothing_changed(const Review& review, Change change) {
  return failures_of(review).of(change).empty() ? "Nothing by 1 % or more."
                                                : "No figure by 1 % or more.";
}

std::string change_text(const Figure& figure) {
  const bool differ = results::number_of(figure.base) != results::number_of(figure.with);
  if (differ && change_of(figure) == Change::same) return is_time(figure) ? "noise" : "luck";
  return results::change_text(figure.base, figure.with);
}

std::string luck_text(const Figure& figure) {
  constexpr double kShown = 0.0005;  // a smaller value would be printed as 0.0
  return is_time(figure) || figure.noise < kShown ? std::string()
                                                  : fmt::format(" ±{:.1f}", 100 * figure.noise);
}

std::string names_text(const Review& review, const std::vector<std::size_t>& of) {
  std::string out;
  for (const std::size_t i : of)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", escape(review.cases[i].name));
  return out;
}

std::vector<std::size_t> alike_cases(const Review& review) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < review.cases.size(); ++i)
    if (review.cases[i].alike) out.push_back(i);
  return out;
}

std::string inputs_note(const Review& review) {
  std::string out =
      "\"Followed\" is the share of the recorded decisions that the model of the recorded kernel "
      "makes as well, from the same requests. It shows how far the results for that capture can be "
      "trusted.";
  if (std::ranges::any_of(review.cases, &Case::aged))
    out +=
        " Random operations fill the aged file systems, the same ones for both, and no kernel "
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
