// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace e4r::test {

// Draws numbers from a fuzzer's bytes. Draws zeros after the last byte.
class Draw {
 public:
  explicit Draw(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  [[nodiscard]] bool more() const { return !left_.empty(); }

  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t b = left_.front();
    left_ = left_.subspan(1);
    return b;
  }
  std::uint64_t raw(int bytes) {
    std::uint64_t n = 0;
    for (int i = 0; i < bytes; ++i) n = n << 8 | byte();
    return n;
  }
  std::uint32_t below(std::uint32_t limit) {
    return limit <= 1 ? 0 : static_cast<std::uint32_t>(raw(limit > 256 ? 2 : 1) % limit);
  }
  bool one_in(std::uint32_t n) { return below(n) == 1; }
  // Draws a number that is usually below the limit. Sometimes it is close to the limit, close to
  // the largest value of the type, or arbitrary.
  std::uint64_t odd(std::uint64_t limit) {
    const std::uint8_t how = byte();
    if (how < 180) return below(static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, 65536)));
    if (how < 210) return limit + below(5) - 2;
    if (how < 225) return 0xffffffffull - below(4);
    if (how < 235) return 0x80000000ull + below(4) - 2;
    return raw(8);
  }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace e4r::test
