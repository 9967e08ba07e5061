// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "report/replay_report.h"

// Parts of the page that are there without its script.
namespace e4r::report {

// Image, trace, and what the answers are worth.
[[nodiscard]] std::string html_facts(const ReplayReport& report);
// Every row that the text shows.
[[nodiscard]] std::string html_rows(const ReplayReport& report);
// Free extents by size, a row per bucket and column.
[[nodiscard]] std::string html_histogram(const ReplayReport& report);
// The decisions with most steps under each policy and why they took them, where that was written
// down; empty when none took any.
[[nodiscard]] std::string html_slowest(const ReplayReport& report);

}  // namespace e4r::report
