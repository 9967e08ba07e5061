// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace e4r::trace::e4t {

// Varints hold seven bits per byte, lowest first; the top bit says that more bytes follow.
inline constexpr int kMaxVarint = 10;

inline std::uint8_t* put_varint(std::uint8_t* p, std::uint64_t value) {
  while (value >= 0x80) {
    *p++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *p++ = static_cast<std::uint8_t>(value);
  return p;
}

// The value of a varint of several bytes, and the position after it.
struct LongVarint {
  std::uint64_t value;
  const std::uint8_t* end;
};
inline LongVarint get_rest(const std::uint8_t* p, std::uint64_t value) {
  value &= 0x7f;
  for (int shift = 7; shift < 7 * kMaxVarint; shift += 7) {
    const std::uint64_t byte = *p++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return {value, p};
}

// Reads at most kMaxVarint bytes, which must be readable. Drops bits beyond 64. The first branch
// serves most numbers: they have one byte.
inline std::uint64_t get_varint(const std::uint8_t*& p) {
  const std::uint64_t first = *p++;
  if (first < 0x80) return first;
  const LongVarint whole = get_rest(p, first);
  p = whole.end;
  return whole.value;
}

// Maps differences of either sign to small numbers: 0, -1, 1, -2, ... -> 0, 1, 2, 3, ...
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t code) {
  return code >> 1 ^ (0 - (code & 1));
}

}  // namespace e4r::trace::e4t
