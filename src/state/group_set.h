// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace e4r::state {

// A set of group numbers that finds the next member. The lowest level has one bit per group; each
// bit of a higher level tells whether any of 64 bits below it is set. Uses no memory until its
// first insertion.
class GroupSet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return !levels_.empty() && number / 64 < levels_[0].size() &&
           (levels_[0][number / 64] >> number % 64 & 1) != 0;
  }
  // `groups` is the number of groups; it must be the same in every call.
  void insert(std::uint32_t number, std::uint32_t groups) {
    if (levels_.empty()) make(groups);
    if (contains(number)) return;
    ++count_;
    for (auto& level : levels_) {
      level[number / 64] |= 1ull << number % 64;
      number /= 64;
    }
  }
  void erase(std::uint32_t number) {
    if (!contains(number)) return;
    --count_;
    for (auto& level : levels_) {
      level[number / 64] &= ~(1ull << number % 64);
      if (level[number / 64] != 0) return;
      number /= 64;
    }
  }
  // The lowest member >= from, or kNone.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const {
    std::uint64_t at = from;  // an index of bits in the level
    for (std::size_t up = 0; up < levels_.size(); ++up) {
      const std::uint64_t word = at / 64;
      if (word >= levels_[up].size()) return kNone;
      if (const std::uint64_t bits = levels_[up][word] & (~0ull << at % 64); bits != 0)
        return descend(up, word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
      at = word + 1;
    }
    return kNone;
  }

 private:
  void make(std::uint32_t groups) {
    std::size_t bits = groups;
    do {
      bits = (bits + 63) / 64;
      levels_.emplace_back(bits, 0);
    } while (bits > 1);
  }
  // The lowest member below a bit of a level.
  [[nodiscard]] std::uint32_t descend(std::size_t level, std::uint64_t bit) const {
    for (; level > 0; --level)
      bit = bit * 64 + static_cast<std::uint64_t>(std::countr_zero(levels_[level - 1][bit]));
    return static_cast<std::uint32_t>(bit);
  }

  std::vector<std::vector<std::uint64_t>> levels_;  // the members, then the summaries of each level
  std::uint32_t count_ = 0;
};

}  // namespace e4r::state
