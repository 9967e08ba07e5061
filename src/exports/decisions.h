// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "replay/accounts.h"
#include "report/replay_report.h"
#include "util/output.h"
#include "util/status.h"

// Exports the decisions of a comparison, request by request, for other programs (docs/data.md).
namespace e4r::exports {

// The requests of the recorded kernel, or of one policy.
struct Series {
  std::uint32_t run = 0;       // 0: the recorded kernel; else the policy's position, from 1
  std::string_view name = {};  // "recorded", or the policy's name; UTF-8
  const replay::DecisionRows* rows = nullptr;
  [[nodiscard]] bool recorded() const { return run == 0; }
};

// Checks that the file name extension selects a format: .csv or .sqlite. "" means that nothing is
// written. The Error lists the extensions.
[[nodiscard]] Status check_name(std::string_view path);
// The kind of output that a file of that name needs.
[[nodiscard]] OutputKind kind_of(std::string_view path);

// Writes the table in the format that the file name selects, with one row per request of each
// series, in order. A database also has a table `meta` with facts from the report. `version` is the
// program's version.
[[nodiscard]] Status write_decisions(const OutputName& name, std::span<const Series> series,
                                     const report::ReplayReport& report, std::string_view version);

// A time, printed in seconds with nine decimals.
struct Seconds {
  std::uint64_t ns = 0;
};
// monostate stands for a missing or unknown value.
using Cell = std::variant<std::monostate, std::uint64_t, Seconds, std::string_view>;

// A column of the table of decisions. docs/data.md explains each column.
struct DecisionColumn {
  std::string_view name;  // a quantity has its unit as suffix
  std::string_view type;  // SQL type
  Cell (*cell)(const Series& series, const replay::DecisionRow& row);
};
[[nodiscard]] std::span<const DecisionColumn> columns();

// A word for how a request was served.
[[nodiscard]] std::string_view served_text(replay::ServedBy served);

}  // namespace e4r::exports
