// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace e4r {

// The index of the first byte that is not zero, or bytes.size().
[[nodiscard]] inline std::size_t first_nonzero(std::span<const std::byte> bytes) {
  constexpr std::size_t kStep = 4096;
  static constexpr std::byte kZeros[kStep] = {};
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t step = std::min(kStep, bytes.size() - at);
    if (std::memcmp(&bytes[at], kZeros, step) != 0) break;
    at += step;
  }
  while (at < bytes.size() && bytes[at] == std::byte{0}) ++at;
  return at;
}

[[nodiscard]] inline bool all_zero(std::span<const std::byte> bytes) {
  return first_nonzero(bytes) == bytes.size();
}

}  // namespace e4r
