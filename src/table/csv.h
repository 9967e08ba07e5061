// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace e4r::table {

// Text in double quotes, each of its own doubled: a cell of CSV, and a name of SQL.
[[nodiscard]] std::string quoted(std::string_view text);
// Text as a cell of CSV (RFC 4180): in quotes where it has a comma, a quote or a line break.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace e4r::table
