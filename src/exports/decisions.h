// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "replay/decision_rows.h"
#include "report/replay_report.h"
#include "util/output.h"
#include "util/status.h"

// What a comparison of policies decided, request by request, for the programs of others
// (docs/data.md).
namespace e4r::exports {

// The requests of the recorded kernel, or of one policy.
struct Series {
  std::uint32_t run = 0;  // 0: the recorded kernel; else the policy's place among those asked for
  std::string_view name = {};  // "recorded", or the policy's; UTF-8
  const replay::DecisionRows* rows = nullptr;
  [[nodiscard]] bool recorded() const { return run == 0; }
};

// Whether the ending of a file's name stands for a form: .csv or .sqlite; "": nothing is written.
// The Error says which endings there are.
[[nodiscard]] Status check_name(std::string_view path);
// What a file of that name must be.
[[nodiscard]] OutputKind kind_of(std::string_view path);

// Writes the table in the form of its name, a row for each request of each series, in their order.
// The report tells what a database says in its table `meta`; `version` is that of the program.
[[nodiscard]] Status write_decisions(const OutputName& name, std::span<const Series> series,
                                     const report::ReplayReport& report, std::string_view version);

}  // namespace e4r::exports
