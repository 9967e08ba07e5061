// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/recorded_account.h"

#include <algorithm>

namespace e4r::app {
namespace {

using Stats = std::vector<stats::MbStat>;
using Groups = std::vector<state::MbGroup>;

template <class T>
Result<std::optional<T>> parse_noted(const std::optional<NotedText>& noted,
                                     Result<T> (*parse)(std::string_view)) {
  if (!noted) return std::optional<T>();
  Result<T> parsed = parse(noted->text);
  if (!parsed.ok()) return error("{}: {}", noted->where, parsed.error().message);
  return std::optional<T>(std::move(*parsed));
}

// Subtracts the counts at the capture's start. The kernel counts from its mount, or from when
// counting was switched on, but only the recorded run matters here.
Status take_off_start(const capture::Capture& capture, Stats& stats) {
  const std::string* text = capture.text(capture::text_name::kStartStats);
  if (text == nullptr) return {};
  E4R_TRY(const Stats start, stats::parse_mb_stats(*text));
  for (stats::MbStat& stat : stats)
    for (const stats::MbStat& before : start)
      if (before.name == stat.name) stat.value -= std::min(stat.value, before.value);
  return {};
}

const capture::Capture* capture_of(const Inputs& inputs) {
  return inputs.capture ? &*inputs.capture : nullptr;
}

}  // namespace

std::string end_in_doubt(const Inputs& inputs) {
  const capture::Capture* const capture = capture_of(inputs);
  if (capture == nullptr || (capture->end() != nullptr && capture->end()->quiet)) return {};
  return capture->end() == nullptr ? "the capture has no end"
                                   : "mb_stats was read while the file system was written to";
}

Result<std::optional<Groups>> read_kernel_groups(const std::string& given,
                                                 const InputOptions& options,
                                                 const Inputs& inputs) {
  E4R_TRY(const auto found, noted(given, capture_of(inputs), capture::text_name::kEndGroups,
                                  options.trace, "mb_groups"));
  return parse_noted(found, &stats::parse_mb_groups);
}

Result<std::string> uncounted_stats(const InputOptions& options, const Inputs& inputs) {
  E4R_TRY(const auto found,
          noted("", capture_of(inputs), capture::text_name::kEndStats, options.trace, "mb_stats"));
  return found && stats::stats_were_off(found->text) ? found->where : std::string();
}

Result<std::optional<Stats>> read_kernel_stats(const std::string& given,
                                               const InputOptions& options, const Inputs& inputs) {
  E4R_TRY(const auto found, noted(given, capture_of(inputs), capture::text_name::kEndStats,
                                  options.trace, "mb_stats"));
  E4R_TRY(std::optional<Stats> out, parse_noted(found, &stats::parse_mb_stats));
  if (inputs.capture && out && given.empty()) E4R_CHECK(take_off_start(*inputs.capture, *out));
  return out;
}

report::KernelStats recorded_stats(const InputOptions& options, const Inputs& inputs) {
  if (std::string doubt = end_in_doubt(inputs); !doubt.empty()) return {{}, std::move(doubt)};
  Result<std::optional<Stats>> read = read_kernel_stats("", options, inputs);
  if (!read.ok()) return {{}, read.error().message};
  if (!*read) return {{}, "mb_stats was not recorded"};
  return {stats::known_counters(**read), {}};
}

}  // namespace e4r::app
