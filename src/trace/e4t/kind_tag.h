// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "trace/e4t/varint.h"

namespace e4r::trace::e4t {

// The kind of an event, in the first five bits of its first byte. The last of the 32 numbers is an
// escape: what is more than it follows as a varint, before everything else.
inline constexpr std::uint8_t kKindBits = 0x1f;
inline constexpr std::uint32_t kEscapedKind = 31;

// Writes the first byte, and what escapes from it. Bits 5 to 7 are left clear.
inline std::uint8_t* put_kind(std::uint8_t* p, std::uint32_t kind) {
  if (kind < kEscapedKind) {
    *p++ = static_cast<std::uint8_t>(kind);
    return p;
  }
  *p++ = kEscapedKind;
  return put_varint(p, kind - kEscapedKind);
}

// `p`: behind the first byte. Of at most kMaxVarint bytes that follow.
inline std::uint64_t get_kind(std::uint8_t first, const std::uint8_t*& p) {
  const std::uint32_t kind = first & kKindBits;
  return kind < kEscapedKind ? kind : kEscapedKind + get_varint(p);
}

}  // namespace e4r::trace::e4t
