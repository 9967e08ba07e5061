// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

// Operations on a group's bitmap of 64-bit words. Bit n % 64 of word n / 64 is cluster n; it is set
// when the cluster is in use. Positions are in bits; ranges must lie inside the words.
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

// The first bit in [from, limit) that is set after an XOR of each word with `flip`, or limit.
[[nodiscard]] inline std::uint32_t find(ConstWords words, std::uint32_t limit, std::uint32_t from,
                                        std::uint64_t flip) {
  if (from >= limit) return limit;
  std::size_t at = from >> 6;
  const std::size_t last = (limit - 1) >> 6;
  std::uint64_t word = (words[at] ^ flip) & ~0ull << (from & 63);
  while (word == 0) {
    if (at == last) return limit;
    word = words[++at] ^ flip;
  }
  const auto bit =
      static_cast<std::uint32_t>(at << 6 | static_cast<unsigned>(std::countr_zero(word)));
  return std::min(bit, limit);
}

// The first clear or set bit in [from, limit), or limit.
[[nodiscard]] inline std::uint32_t find_clear(ConstWords words, std::uint32_t limit,
                                              std::uint32_t from) {
  return find(words, limit, from, ~0ull);
}
[[nodiscard]] inline std::uint32_t find_set(ConstWords words, std::uint32_t limit,
                                            std::uint32_t from) {
  return find(words, limit, from, 0);
}

// Calls each(start, end) for each maximal run of clear bits in [from, limit), in order. `each` may
// change the bits of its run.
template <class Each>
void for_each_clear_run(ConstWords words, std::uint32_t from, std::uint32_t limit,
                        const Each& each) {
  for (std::uint32_t at = find_clear(words, limit, from); at < limit;) {
    const std::uint32_t end = find_set(words, limit, at);
    each(at, end);
    at = find_clear(words, limit, end);
  }
}
template <class Each>
void for_each_clear_run(ConstWords words, std::uint32_t limit, const Each& each) {
  for_each_clear_run(words, 0, limit, each);
}

// Calls fn(word index, mask) for each word that [from, from + count) touches.
template <class Fn>
void for_words(std::uint32_t from, std::uint32_t count, Fn fn) {
  const std::uint32_t end = from + count;
  while (from < end) {
    const std::uint32_t low = from & 63;
    const std::uint32_t n = std::min(64 - low, end - from);
    fn(from >> 6, (n == 64 ? ~0ull : (1ull << n) - 1) << low);
    from += n;
  }
}

inline void set_range(Words words, std::uint32_t from, std::uint32_t count) {
  for_words(from, count, [&](std::uint32_t at, std::uint64_t mask) { words[at] |= mask; });
}
inline void clear_range(Words words, std::uint32_t from, std::uint32_t count) {
  for_words(from, count, [&](std::uint32_t at, std::uint64_t mask) { words[at] &= ~mask; });
}

[[nodiscard]] bool all_set(ConstWords words, std::uint32_t from, std::uint32_t count);
[[nodiscard]] bool all_clear(ConstWords words, std::uint32_t from, std::uint32_t count);

// Counts the clear bits in [0, limit).
[[nodiscard]] std::uint32_t count_clear(ConstWords words, std::uint32_t limit);

}  // namespace e4r::state::bitmap
