// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/buddy.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/rng.h"

namespace e4r::state::bitmap {
namespace {

// Searches one bit at a time, as a slow but simple reference.
std::uint32_t plain_find(const std::vector<bool>& bits, bool want, std::uint32_t limit,
                         std::uint32_t from) {
  while (from < limit && bits[from] != want) ++from;
  return std::min(from, limit);
}

std::uint32_t plain_find_run(const std::vector<bool>& bits, std::uint32_t limit, std::uint32_t from,
                             std::uint32_t least) {
  for (std::uint32_t start = from; start < limit;) {
    const std::uint32_t end = plain_find(bits, true, limit, start);
    if (end - start >= least) return start;
    start = plain_find(bits, false, limit, end);
  }
  return limit;
}

TEST(Bitmap, AgreesWithBitByBit) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const auto size = static_cast<std::uint32_t>(rng.between(1, 300));
    std::vector<std::uint64_t> words((size + 63) / 64, 0);
    std::vector<bool> bits(size, false);
    for (int step = 0; step < 12; ++step) {
      const auto from = static_cast<std::uint32_t>(rng.below(size));
      const auto count = static_cast<std::uint32_t>(rng.below(size - from + 1));
      const bool value = rng.chance(1, 2);
      value ? set_range(words, from, count) : clear_range(words, from, count);
      for (std::uint32_t i = 0; i < count; ++i) bits[from + i] = value;
      EXPECT_EQ(all_set(words, from, count), value || count == 0);
      EXPECT_EQ(all_clear(words, from, count), !value || count == 0);
    }
    std::uint32_t clear = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      EXPECT_EQ(test(words, i), bits[i]);
      EXPECT_EQ(find_clear(words, size, i), plain_find(bits, false, size, i));
      EXPECT_EQ(find_set(words, size, i), plain_find(bits, true, size, i));
      for (const std::uint32_t least : {1u, 2u, 5u, 63u, 64u, 65u, 130u})
        EXPECT_EQ(find_clear_run(words, size, i, least), plain_find_run(bits, size, i, least));
      clear += bits[i] ? 0 : 1;
    }
    EXPECT_EQ(count_clear(words, size), clear);
    EXPECT_EQ(find_clear(words, size, size), size);
  }
}

}  // namespace
}  // namespace e4r::state::bitmap
