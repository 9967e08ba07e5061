// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace e4r {

// The value, indented by two spaces a level, with keys in their own order and a newline at the end.
// A number that JSON cannot write (infinite, not a number) becomes null. Bytes of a string that are
// not UTF-8 (in a path or a label) become U+FFFD.
[[nodiscard]] std::string json_text(const boost::json::value& value);

// The same on one line, without blanks or a newline.
[[nodiscard]] std::string json_line(const boost::json::value& value);

}  // namespace e4r
