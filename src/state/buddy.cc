// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/buddy.h"

#include <bit>

#include "ext4/geometry.h"

namespace e4r::state::bitmap {

// Only the model is limited to little-endian machines. mke2fs-lazy and tune2fs-lazy do not use this
// code; they were tested on s390x.
static_assert(std::endian::native == std::endian::little,
              "the model was never tried on a big-endian machine: see docs/installing.md");

bool all_set(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_clear(words, from + count, from) == from + count;
}

bool all_clear(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_set(words, from + count, from) == from + count;
}

namespace {

// Returns the bits of `clear` at which a run of at least `least` set bits begins.
std::uint64_t starts_of_runs(std::uint64_t clear, std::uint32_t least) {
  std::uint64_t starts = clear;
  for (std::uint32_t length = 1; length < least && starts != 0;) {
    const std::uint32_t more = std::min(length, least - length);
    starts &= starts >> more;
    length += more;
  }
  return starts;
}

}  // namespace

std::uint32_t find_clear_run(ConstWords words, std::uint32_t limit, std::uint32_t from,
                             std::uint32_t least) {
  std::uint32_t run = 0;  // number of clear bits directly before the word
  std::uint64_t mask = ~0ull << (from & 63);
  for (std::uint32_t base = from & ~63u; base < limit; base += 64, mask = ~0ull) {
    if (limit - base < 64) mask &= (1ull << (limit - base)) - 1;
    const std::uint64_t clear = ~words[base >> 6] & mask;
    if (clear == 0) {  // most words of a group that is nearly full
      run = 0;
      while (limit - base > 64 && words[(base >> 6) + 1] == ~0ull) base += 64;
      continue;
    }
    const auto leading = static_cast<std::uint32_t>(std::countr_one(clear));
    if (run + leading >= least) return base - run;
    if (leading == 64) {
      run += 64;
      continue;
    }
    if (least < 64)
      if (const std::uint64_t starts = starts_of_runs(clear, least); starts != 0)
        return base + static_cast<std::uint32_t>(std::countr_zero(starts));
    run = static_cast<std::uint32_t>(std::countl_one(clear));
  }
  return limit;
}

std::uint32_t count_clear(ConstWords words, std::uint32_t limit) {
  std::uint32_t clear = 0;
  for_words(0, limit, [&](std::uint32_t at, std::uint64_t mask) {
    clear += static_cast<std::uint32_t>(std::popcount(~words[at] & mask));
  });
  return clear;
}

}  // namespace e4r::state::bitmap

namespace e4r::state {
namespace {

// Calls fn(start, order) for each chunk of the canonical split of [first, first + len).
template <class Fn>
void for_chunks(std::uint32_t orders, std::uint32_t first, std::uint32_t len, Fn fn) {
  while (len > 0) {
    const std::uint32_t align =
        static_cast<std::uint32_t>(std::countr_zero(first | 1u << (orders - 1)));
    const std::uint32_t order = std::min(align, static_cast<std::uint32_t>(fls(len)) - 1);
    fn(first, order);
    first += 1u << order;
    len -= 1u << order;
  }
}

}  // namespace

void count_chunks(OrderCounters& counters, std::uint32_t orders, std::uint32_t first,
                  std::uint32_t len, int sign) {
  for_chunks(orders, first, len, [&](std::uint32_t, std::uint32_t order) {
    counters[order] += static_cast<std::uint32_t>(sign);
  });
}

Buddy::Buddy(bitmap::ConstWords words, std::uint32_t clusters, std::uint32_t orders)
    : orders_(orders) {
  const std::uint32_t top = 1u << (orders - 1);
  size_ = (clusters + top - 1) / top * top;
  std::uint32_t bits = 0;
  for (std::uint32_t order = 1; order < orders; ++order) {
    offset_[order] = bits;
    bits += (chunks(order) + 63) / 64 * 64;
  }
  words_.assign(bits / 64, ~0ull);
  bitmap::for_each_clear_run(words, clusters, [&](std::uint32_t run, std::uint32_t end) {
    for_chunks(orders, run, end - run, [&](std::uint32_t start, std::uint32_t order) {
      if (order > 0) mark(order, start >> order, false);
    });
  });
}

Buddy::Split Buddy::first_split(std::uint32_t start, std::uint32_t len) const {
  while (len > 0) {
    const std::uint32_t order = order_at(start);
    const std::uint32_t chunk = 1u << order;
    if ((start & (chunk - 1)) != 0 || len < chunk) return {len, order};
    start += chunk;
    len -= chunk;
  }
  return {};
}

Buddy::Split Buddy::take(std::uint32_t start, std::uint32_t len, OrderCounters& counters) {
  Split first_split;
  while (len > 0) {
    std::uint32_t order = order_at(start);
    while ((start & ((1u << order) - 1)) != 0 || len < 1u << order) {
      if (first_split.tail == 0 && first_split.order == 0) first_split = {len, order};
      // Split the chunk into two free chunks of the next lower order.
      mark(order, start >> order, true);
      --counters[order];
      --order;
      const std::uint32_t left = start >> order & ~1u;
      if (order > 0) {
        mark(order, left, false);
        mark(order, left + 1, false);
      }
      counters[order] += 2;
    }
    if (order > 0) mark(order, start >> order, true);
    --counters[order];
    start += 1u << order;
    len -= 1u << order;
  }
  return first_split;
}

void Buddy::give_chunk(std::uint32_t start, std::uint32_t order, bitmap::ConstWords words,
                       OrderCounters& counters) {
  while (order + 1 < orders_) {
    const std::uint32_t sibling = (start >> order) ^ 1u;
    const bool sibling_used =
        order == 0 ? bitmap::test(words, sibling) : chunk_used(order, sibling);
    if (sibling_used) break;
    if (order > 0) mark(order, sibling, true);
    --counters[order];
    ++order;
    start = start >> order << order;
  }
  if (order > 0) mark(order, start >> order, false);
  ++counters[order];
}

void Buddy::give(std::uint32_t start, std::uint32_t len, bitmap::ConstWords words,
                 OrderCounters& counters) {
  for_chunks(orders_, start, len, [&](std::uint32_t at, std::uint32_t order) {
    give_chunk(at, order, words, counters);
  });
}

std::uint32_t Buddy::first_chunk(std::uint32_t order) const {
  const std::uint32_t from = offset_[order];
  return bitmap::find_clear(words_, from + chunks(order), from) - from;
}

}  // namespace e4r::state
