// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "replay/session.h"
#include "report/replay_report.h"

// Why a policy is better or worse, in sentences with their share of the difference. Each rule has a
// section in docs/causes.md. A rule compares counts: every step of a search has one reason
// (replay/search_reasons.h), so the reasons' differences add up to the whole difference, and no two
// causes claim the same part.
namespace e4r::app {

// Figures that differ by less are not explained.
inline constexpr double kDifferPercent = 5;
// A cause is told if it accounts for at least so much of the difference, in percent. One that
// accounts for much more than the difference is only one of several that pull in both directions.
inline constexpr double kLeastPercent = 50, kMostPercent = 200;
// The second cause for the same figure.
inline constexpr double kSecondPercent = 25;

// The names of all rules, in the order of docs/causes.md.
[[nodiscard]] std::vector<std::string_view> cause_names();

// Fills Outcome::why of the report's runs from those runs' replay::SearchReasons. The first run is
// told by itself, and the others against it. A kernel's code does not report its steps, so it has
// no causes; with a kernel as the first policy no run has.
void find_causes(std::span<const replay::Run> runs, report::ReplayReport& report);

}  // namespace e4r::app
