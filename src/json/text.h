// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace e4r {

// Formats the value with an indentation of two spaces per level and a newline at the end. Keys keep
// their order. A number that JSON cannot express (infinity, NaN) becomes null. Bytes of a string
// that are not UTF-8 (in a path or a label) become U+FFFD.
[[nodiscard]] std::string json_text(const boost::json::value& value);

// Formats the value on one line, without blanks or a newline.
[[nodiscard]] std::string json_line(const boost::json::value& value);

}  // namespace e4r
