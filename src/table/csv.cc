// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/csv.h"

namespace e4r::table {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_cell(std::string_view text) {
  return text.find_first_of(",\"\r\n") == std::string_view::npos ? std::string(text) : quoted(text);
}

}  // namespace e4r::table
