// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "trace/e4t/varint.h"

namespace e4r::trace::e4t {

// The kind of an event occupies five bits of its first byte. The value 31 is an escape: a varint
// with the kind minus 31 follows the first byte.
inline constexpr std::uint8_t kKindBits = 0x1f;
inline constexpr std::uint32_t kEscapedKind = 31;

// Writes the first byte and, if needed, the escaped kind. Leaves bits 5 to 7 clear.
inline std::uint8_t* put_kind(std::uint8_t* p, std::uint32_t kind) {
  if (kind < kEscapedKind) {
    *p++ = static_cast<std::uint8_t>(kind);
    return p;
  }
  *p++ = kEscapedKind;
  return put_varint(p, kind - kEscapedKind);
}

// Reads the kind. `p` points after the first byte and moves past the escaped kind. kMaxVarint bytes
// must be readable at `p`.
inline std::uint64_t get_kind(std::uint8_t first, const std::uint8_t*& p) {
  const std::uint32_t kind = first & kKindBits;
  return kind < kEscapedKind ? kind : kEscapedKind + get_varint(p);
}

}  // namespace e4r::trace::e4t
