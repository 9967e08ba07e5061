// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/csv.h"

namespace e4r::table {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace e4r::table
