// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shrinker/replay.h"

namespace e4r::tools {

// What `e4replay shrinker` says: how the model of the recorded kernel agrees, and what each model
// makes of the trace.
struct ShrinkerReport {
  std::string trace;
  std::vector<std::string> not_understood;  // what of it was skipped, a line each
  shrinker::Replay recorded;
  std::vector<shrinker::ReclaimOutcome> runs;
};

// How many of the calls, or of the lookups if that is less, the model decided as recorded; nothing
// without calls. There are a thousand lookups for a call: together they would hide a wrong model.
[[nodiscard]] std::optional<double> percent_same(const shrinker::CacheAgreement& agreement);

[[nodiscard]] std::string shrinker_text(const ShrinkerReport& report);
[[nodiscard]] std::string shrinker_json(const ShrinkerReport& report);

}  // namespace e4r::tools
