// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/buddy.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/rng.h"

namespace e4r::state {
namespace {

// Returns the order of the largest aligned free chunk around `at`, by trying all orders.
std::uint32_t plain_order(const std::vector<std::uint64_t>& words, std::uint32_t clusters,
                          std::uint32_t orders, std::uint32_t at) {
  std::uint32_t best = 0;
  for (std::uint32_t order = 1; order < orders; ++order) {
    const std::uint32_t start = at >> order << order;
    if (start + (1u << order) > clusters || !bitmap::all_clear(words, start, 1u << order)) break;
    best = order;
  }
  return best;
}

OrderCounters plain_counters(const std::vector<std::uint64_t>& words, std::uint32_t clusters,
                             std::uint32_t orders) {
  OrderCounters counters{};
  for (std::uint32_t at = 0; at < clusters;) {
    if (bitmap::test(words, at)) {
      ++at;
      continue;
    }
    const std::uint32_t order = plain_order(words, clusters, orders, at);
    ++counters[order];
    at += 1u << order;
  }
  return counters;
}

// After random calls of take() and give(), every free chunk must still be as large as possible.
TEST(Buddy, StaysCanonical) {
  for (const std::uint32_t orders : {5u, 8u, 12u}) {
    Rng rng(orders);
    const std::uint32_t clusters = (8u << (orders - 2)) - (orders == 8 ? 8 : 0);
    std::vector<std::uint64_t> words((8u << (orders - 2)) / 64 + 1, ~0ull);
    bitmap::clear_range(words, 0, clusters);
    OrderCounters counters{};
    count_chunks(counters, orders, 0, clusters, 1);
    Buddy buddy(words, clusters, orders);
    for (int step = 0; step < 2000; ++step) {
      const auto at = static_cast<std::uint32_t>(rng.below(clusters));
      const bool used = bitmap::test(words, at);
      const std::uint32_t end =
          used ? bitmap::find_clear(words, clusters, at) : bitmap::find_set(words, clusters, at);
      const auto len = static_cast<std::uint32_t>(rng.between(1, end - at));
      if (used) {
        buddy.give(at, len, words, counters);
        bitmap::clear_range(words, at, len);
      } else {
        buddy.take(at, len, counters);
        bitmap::set_range(words, at, len);
      }
      ASSERT_EQ(counters, plain_counters(words, clusters, orders)) << "step " << step;
      const auto probe = bitmap::find_clear(words, clusters, 0);
      if (probe < clusters) {
        ASSERT_EQ(buddy.order_at(probe), plain_order(words, clusters, orders, probe));
      }
    }
  }
}

TEST(Buddy, FirstChunkIsTheLowestOfExactlyThatOrder) {
  std::vector<std::uint64_t> words(2, ~0ull);
  bitmap::clear_range(words, 8, 8);   // a chunk of order 3 at cluster 8
  bitmap::clear_range(words, 34, 2);  // a chunk of order 1 at cluster 34
  bitmap::clear_range(words, 64, 8);  // a chunk of order 3 at cluster 64
  const Buddy buddy(words, 128, 6);
  EXPECT_EQ(buddy.first_chunk(1), 17u);
  EXPECT_EQ(buddy.first_chunk(3), 1u);
  EXPECT_EQ(buddy.first_chunk(2), buddy.chunks(2));
}

TEST(Buddy, ReportsTheFirstSplit) {
  std::vector<std::uint64_t> words(2, 0);
  OrderCounters counters{};
  count_chunks(counters, 6, 0, 128, 1);
  Buddy buddy(words, 128, 6);
  // The call takes all of the first 32 clusters, and 5 of the next 32.
  const Buddy::Split split = buddy.take(0, 37, counters);
  EXPECT_EQ(split.tail, 5u);
  EXPECT_EQ(split.order, 5u);
  const Buddy::Split none = buddy.take(64, 32, counters);
  EXPECT_EQ(none.tail, 0u);
  EXPECT_EQ(none.order, 0u);
}

}  // namespace
}  // namespace e4r::state
