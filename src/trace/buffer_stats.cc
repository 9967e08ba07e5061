// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/buffer_stats.h"

#include <charconv>

namespace e4r::trace {

std::uint64_t lost_by_stats(std::string_view stats) {
  std::uint64_t sum = 0;
  for (const std::string_view key : {"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "}) {
    const std::size_t at = stats.find(key);
    if (at == std::string_view::npos) continue;
    std::uint64_t value = 0;
    std::from_chars(stats.data() + at + key.size(), stats.data() + stats.size(), value);
    sum += value;
  }
  return sum;
}

}  // namespace e4r::trace
