// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace e4r {

// Foreign text for a message or a shown name: at most `limit` bytes, with '?' for each byte that is
// not printable ASCII.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t limit = 64) {
  std::string out(text.substr(0, limit));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

}  // namespace e4r
