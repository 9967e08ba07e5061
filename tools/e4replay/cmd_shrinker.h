// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shrinker/replay.h"

namespace e4r::tools {

// The report of `e4replay shrinker`: how closely the model of the recorded kernel agrees with the
// recording, and the outcome of each model.
struct ShrinkerReport {
  std::string trace;
  std::vector<std::string> not_understood;  // parts of the trace that were skipped, one line each
  shrinker::Replay recorded;
  std::vector<shrinker::ReclaimOutcome> runs;
};

// The share of the recorded calls in which the model agrees with the recording, or the share of
// such lookups, whichever is smaller. Empty if there are no calls. There are about a thousand
// lookups for each call, so a common share would hide a wrong model.
[[nodiscard]] std::optional<double> percent_same(const shrinker::CacheAgreement& agreement);

[[nodiscard]] std::string shrinker_text(const ShrinkerReport& report);
[[nodiscard]] std::string shrinker_json(const ShrinkerReport& report);

}  // namespace e4r::tools
