// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/bitmap.h"

#include <algorithm>
#include <bit>

namespace e4r::state::bitmap {
namespace {

// First bit in [from, limit) that is set once every word is XORed with `flip`.
std::uint32_t find(ConstWords words, std::uint32_t limit, std::uint32_t from, std::uint64_t flip) {
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

}  // namespace

std::uint32_t find_clear(ConstWords words, std::uint32_t limit, std::uint32_t from) {
  return find(words, limit, from, ~0ull);
}

std::uint32_t find_set(ConstWords words, std::uint32_t limit, std::uint32_t from) {
  return find(words, limit, from, 0);
}

void set_range(Words words, std::uint32_t from, std::uint32_t count) {
  for_words(from, count, [&](std::uint32_t at, std::uint64_t mask) { words[at] |= mask; });
}

void clear_range(Words words, std::uint32_t from, std::uint32_t count) {
  for_words(from, count, [&](std::uint32_t at, std::uint64_t mask) { words[at] &= ~mask; });
}

bool all_set(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_clear(words, from + count, from) == from + count;
}

bool all_clear(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_set(words, from + count, from) == from + count;
}

std::uint32_t count_clear(ConstWords words, std::uint32_t limit) {
  std::uint32_t clear = 0;
  for_words(0, limit, [&](std::uint32_t at, std::uint64_t mask) {
    clear += static_cast<std::uint32_t>(std::popcount(~words[at] & mask));
  });
  return clear;
}

}  // namespace e4r::state::bitmap
