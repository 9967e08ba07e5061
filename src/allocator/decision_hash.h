// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace e4r::allocator {

// A hash of what was handed out, request by request: FNV-1a of 64 bits over each answer's first
// block (8 bytes) and length in clusters (4 bytes), little-endian; both are 0 when there was no
// space. Whoever decides alike has the same hash.
class DecisionHash {
 public:
  void add(std::uint64_t block, std::uint32_t clusters) {
    if (block == 0 || clusters == 0) block = clusters = 0;
    for (const auto& [value, bytes] :
         std::initializer_list<std::pair<std::uint64_t, int>>{{block, 8}, {clusters, 4}})
      for (int byte = 0; byte < bytes; ++byte)
        value_ = (value_ ^ (value >> 8 * byte & 0xff)) * 0x100000001b3ull;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

}  // namespace e4r::allocator
