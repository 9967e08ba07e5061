// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "replay/agreement.h"
#include "report/replay_report.h"

// What text and page say of how far a replay decided like the recorded kernel.
namespace e4r::report {

// "12.345 %", or "-" of no decisions. "100.000 %" of all decisions only.
[[nodiscard]] std::string share_text(const replay::Agreement& agreement, std::uint64_t of);

struct AgreementRow {
  std::string label;
  std::string key;  // in JSON documents
  std::uint64_t count = 0;
  bool share = false;  // of all decisions
};
[[nodiscard]] std::vector<AgreementRow> agreement_rows(const replay::Agreement& agreement);

// What it says of mb_groups, and of mb_stats, in a line; empty when they were not compared.
[[nodiscard]] std::string groups_text(const results::Outcome& run);
[[nodiscard]] std::string stats_text(const results::Outcome& run);

}  // namespace e4r::report
