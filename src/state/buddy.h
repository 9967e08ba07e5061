// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

// Operations on a group's bitmap of 64-bit words. Bit n % 64 of word n / 64 is cluster n; it is set
// if the cluster is in use. Positions are bit numbers; ranges must lie inside the words.
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

// The start of the first run of at least `least` clear bits in [from, limit), or limit. A run that
// contains `from` counts as beginning at `from`. `least` must be at least 1.
[[nodiscard]] std::uint32_t find_clear_run(ConstWords words, std::uint32_t limit,
                                           std::uint32_t from, std::uint32_t least);

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

namespace e4r::state {

// The free chunks of a group by order: counters[o] is the number of free, aligned chunks of 2^o
// clusters that are not part of a larger free chunk. 64 KiB blocks have 18 orders.
inline constexpr std::uint32_t kMaxOrders = 18;
using OrderCounters = std::array<std::uint32_t, kMaxOrders>;

// Splits the run [first, first + len) into the aligned power-of-two chunks in which a buddy of
// `orders` orders keeps it. Adds `sign` to the counter of each chunk.
void count_chunks(OrderCounters& counters, std::uint32_t orders, std::uint32_t first,
                  std::uint32_t len, int sign);

// The order bitmaps of one group's buddy, from order 1 upwards. Order 0 is the cluster bitmap,
// which the caller owns and passes in. A clear bit marks a free chunk. The buddy is canonical:
// every free cluster belongs to exactly one chunk, the largest free aligned chunk up to the top
// order. Behaves as mb_mark_used, mb_free_blocks and mb_find_order_for_block of Linux 6.1.
class Buddy {
 public:
  // Builds the buddy from a bitmap of `clusters` clusters.
  Buddy(bitmap::ConstWords words, std::uint32_t clusters, std::uint32_t orders);

  // Describes the first chunk that had to be split: the number of clusters that were still to be
  // taken, and the order of the chunk. Both are 0 if no chunk was split. The kernel's trace calls
  // them `tail` and `broken`.
  struct Split {
    std::uint32_t tail = 0;
    std::uint32_t order = 0;
  };

  // The order of the free chunk that holds cluster `at`, which must be free.
  [[nodiscard]] std::uint32_t order_at(std::uint32_t at) const {
    for (std::uint32_t order = 1; order < orders_; ++order)
      if (!chunk_used(order, at >> order)) return order;
    return 0;
  }

  // One past the last cluster of the free chunk that holds `at`.
  [[nodiscard]] std::uint32_t end_of_chunk(std::uint32_t at) const {
    const std::uint32_t order = order_at(at);
    return ((at >> order) + 1) << order;
  }

  // The chunk that take() of the free range [start, start + len) would split first.
  [[nodiscard]] Split first_split(std::uint32_t start, std::uint32_t len) const;

  // Takes out the free range [start, start + len) and updates the counters. The caller sets the
  // bits in the cluster bitmap, before or after the call.
  Split take(std::uint32_t start, std::uint32_t len, OrderCounters& counters);

  // Puts the range back and merges buddies. In `words`, the range must still be in use.
  void give(std::uint32_t start, std::uint32_t len, bitmap::ConstWords words,
            OrderCounters& counters);

  // The index of the first free chunk of exactly `order`, or chunks(order) if no such chunk is
  // free. `order` must be at least 1.
  [[nodiscard]] std::uint32_t first_chunk(std::uint32_t order) const;
  [[nodiscard]] std::uint32_t chunks(std::uint32_t order) const { return size_ >> order; }

 private:
  [[nodiscard]] bool chunk_used(std::uint32_t order, std::uint32_t index) const {
    return bitmap::test(words_, offset_[order] + index);
  }
  void mark(std::uint32_t order, std::uint32_t index, bool used) {
    const std::uint32_t bit = offset_[order] + index;
    used ? bitmap::set(words_, bit) : bitmap::clear(words_, bit);
  }
  void give_chunk(std::uint32_t start, std::uint32_t order, bitmap::ConstWords words,
                  OrderCounters& counters);

  std::uint32_t size_;    // clusters that the bitmaps can hold: a multiple of the top chunk
  std::uint32_t orders_;  // number of orders, including order 0
  std::array<std::uint32_t, kMaxOrders> offset_{};  // first bit of each order in words_
  std::vector<std::uint64_t> words_;
};

}  // namespace e4r::state
