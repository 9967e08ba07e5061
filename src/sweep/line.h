// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/rows.h"
#include "sweep/plan.h"

// A finished point as one line of JSON, without a newline:
//   {"schema":"e4replay-sweep-point/1","point":1,"capture":...,"policy":...,"tunables":{...},
//    <the rows of a replay>,"crc":"89abcdef"}
// Lines of earlier versions lack "schema" and are still accepted. "tunables" has the values that
// the point sets for tunables of its policy. The rows have the keys of the `e4replay replay`
// document. "crc" is the CRC-32C of the bytes before its comma, in eight hexadecimal digits. A line
// does not depend on other lines, on time or on threads.
namespace e4r::sweep {

[[nodiscard]] std::string point_line(const Plan& plan, std::size_t index,
                                     const results::Outcome& run);

// The index of the plan's point on the line; nullopt if the checksum is wrong, the line is
// incomplete, or the plan has no such point.
[[nodiscard]] std::optional<std::size_t> point_of(const Plan& plan, std::string_view line);

// A line that point_of() accepts, with a "schema" added if it is missing.
[[nodiscard]] std::string named_line(std::string_view line);

// The figures on a line that point_of() accepts, one for each of results::rows(), in the same
// order.
[[nodiscard]] std::vector<results::Value> figures_of(std::string_view line);

}  // namespace e4r::sweep
