// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace e4r {

// The value indented by two spaces a level, keys in their own order, a newline at the end. A
// number that JSON cannot write (infinite, not a number) becomes null, and bytes of a string that
// are no UTF-8 (a path, a label) become U+FFFD.
[[nodiscard]] std::string json_text(const boost::json::value& value);

// The same in one line, without blanks and without a newline at the end.
[[nodiscard]] std::string json_line(const boost::json::value& value);

}  // namespace e4r
