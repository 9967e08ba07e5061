// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "replay/session.h"
#include "report/replay_report.h"

// Explains why a policy is better or worse, in sentences that give each cause's share of the
// difference. Each rule has a section in docs/causes.md. A rule compares counts. Every step of a
// search has exactly one reason (replay/search_reasons.h), so the differences of the reasons add up
// to the whole difference, and causes do not overlap.
namespace e4r::app {

// Smaller differences are not explained.
inline constexpr double kDifferPercent = 5;
// A cause is reported if it accounts for a share of the difference between these limits, in
// percent. A cause above the upper limit is largely offset by others in the opposite direction.
inline constexpr double kLeastPercent = 50, kMostPercent = 200;
// The lower limit for a second cause of the same figure.
inline constexpr double kSecondPercent = 25;

// The names of all rules, in the order of docs/causes.md.
[[nodiscard]] std::vector<std::string_view> cause_names();

// Fills Outcome::why of the report's runs from those runs' replay::SearchReasons. The first run is
// explained by itself, and the others are compared with it. A kernel's code does not report its
// steps, so its run has no causes; if the first policy is a kernel, no run has causes.
void find_causes(std::span<const replay::Run> runs, report::ReplayReport& report);

}  // namespace e4r::app
