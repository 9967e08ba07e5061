// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace e4r::table {

// Puts a text in double quotes and doubles each quote in it: a cell of CSV, or a name of SQL.
[[nodiscard]] std::string quoted(std::string_view text);
// A text as a cell of CSV (RFC 4180). It is quoted if it has a comma, a quote or a line break.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace e4r::table
