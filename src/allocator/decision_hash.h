// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace e4r::allocator {

// A hash of all answers in the order of the requests: 64-bit FNV-1a over each answer's first block
// (8 bytes) and length in clusters (4 bytes), little-endian. Both are 0 when there was no space.
// Equal decisions give equal hashes.
class DecisionHash {
 public:
  void add(std::uint64_t block, std::uint32_t clusters) {
    if (block == 0 || clusters == 0) block = clusters = 0;
    add_bytes<8>(block);
    add_bytes<4>(clusters);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3ull;
  // Powers of kPrime: n bytes of zero multiply the hash by the n-th.
  template <std::size_t kCount>
  static constexpr std::array<std::uint64_t, kCount + 1> powers() {
    std::array<std::uint64_t, kCount + 1> out = {1};
    for (std::size_t i = 0; i < kCount; ++i) out[i + 1] = out[i] * kPrime;
    return out;
  }
  template <std::size_t kBytes>
  void add_bytes(std::uint64_t value) {
    static constexpr auto kPowers = powers<kBytes>();
    std::size_t left = kBytes;
    for (; value != 0; value >>= 8, --left) value_ = (value_ ^ (value & 0xff)) * kPrime;
    value_ *= kPowers[left];
  }

  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

}  // namespace e4r::allocator
