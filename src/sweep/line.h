// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/rows.h"
#include "sweep/plan.h"

// A finished point as one line of JSON, without its newline:
//   {"schema":"e4replay-sweep-point/1","point":1,"capture":...,"policy":...,"tunables":{...},
//    <the rows of a replay>,"crc":"89abcdef"}
// Lines of earlier versions have no "schema", and are read. "tunables" has what the point sets and
// its policy has; the rows have the keys of the document of `e4replay replay`. "crc" is the
// CRC-32C, in eight hexadecimal digits, of the bytes before its comma. No line depends on another,
// on time or on threads.
namespace e4r::sweep {

[[nodiscard]] std::string point_line(const Plan& plan, std::size_t index,
                                     const report::RunReport& run,
                                     const report::ReplayReport& report);

// The index of the plan's point that the line is of; none when its checksum is wrong, part of it is
// missing, or the plan has no such point.
[[nodiscard]] std::optional<std::size_t> point_of(const Plan& plan, std::string_view line);

// A line that point_of() knows, with its "schema" where it has none.
[[nodiscard]] std::string named_line(std::string_view line);

// The figures of a line that point_of() knows: one for each of report::rows(), in their order.
[[nodiscard]] std::vector<report::Value> figures_of(std::string_view line);

// The CRC-32C with all bits set before and turned round after, as most tools have it.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

}  // namespace e4r::sweep
