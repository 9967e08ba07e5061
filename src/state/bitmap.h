// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

// Operations on a group's bitmap held as 64-bit words: bit n of word n/64 is cluster n, set when
// in use. All positions are bits; ranges must lie inside the words.
namespace e4r::state::bitmap {

using Words = std::span<std::uint64_t>;
using ConstWords = std::span<const std::uint64_t>;

[[nodiscard]] inline bool test(ConstWords words, std::uint32_t bit) {
  return (words[bit >> 6] >> (bit & 63) & 1) != 0;
}
inline void set(Words words, std::uint32_t bit) {
  words[bit >> 6] |= 1ull << (bit & 63);
}
inline void clear(Words words, std::uint32_t bit) {
  words[bit >> 6] &= ~(1ull << (bit & 63));
}

// First clear / first set bit in [from, limit), or limit.
[[nodiscard]] std::uint32_t find_clear(ConstWords words, std::uint32_t limit, std::uint32_t from);
[[nodiscard]] std::uint32_t find_set(ConstWords words, std::uint32_t limit, std::uint32_t from);

// Calls each(start, end) for every longest run of clear bits in [0, limit), in order. `each` may
// change bits of that run.
template <class Each>
void for_each_clear_run(ConstWords words, std::uint32_t limit, const Each& each) {
  for (std::uint32_t at = find_clear(words, limit, 0); at < limit;) {
    const std::uint32_t end = find_set(words, limit, at);
    each(at, end);
    at = find_clear(words, limit, end);
  }
}

void set_range(Words words, std::uint32_t from, std::uint32_t count);
void clear_range(Words words, std::uint32_t from, std::uint32_t count);

// Whether every bit of the range is set / clear.
[[nodiscard]] bool all_set(ConstWords words, std::uint32_t from, std::uint32_t count);
[[nodiscard]] bool all_clear(ConstWords words, std::uint32_t from, std::uint32_t count);

// Clear bits in [0, limit).
[[nodiscard]] std::uint32_t count_clear(ConstWords words, std::uint32_t limit);

}  // namespace e4r::state::bitmap
