// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "state/prealloc.h"

namespace e4r::state {

// A group's preallocations by place. It finds those near a range without a look at all of them.
// Uses Prealloc::made_at and made_len, which must not change while a preallocation is in the index.
class PreallocIndex {
 public:
  void add(Prealloc& pa) {
    if (buckets_.size() <= last(pa)) buckets_.resize(last(pa) + 1);
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) buckets_[b].push_back(&pa);
  }
  // Does nothing if `pa` is not in the index.
  void remove(const Prealloc& pa) {
    if (pa.made_len == 0) return;
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) std::erase(buckets_[b], &pa);
  }
  // Calls fn(pa) for preallocations made of clusters near [start, start + len) until fn returns
  // true. Returns whether it did. May pass a preallocation more than once. `len` must not be 0.
  template <class Fn>
  bool any_near(std::uint32_t start, std::uint32_t len, Fn fn) const {
    const std::size_t end =
        std::min<std::size_t>(buckets_.size(), ((start + len - 1) >> kBits) + 1);
    for (std::size_t b = start >> kBits; b < end; ++b)
      if (std::any_of(buckets_[b].begin(), buckets_[b].end(),
                      [&](Prealloc* pa) { return fn(*pa); }))
        return true;
    return false;
  }

 private:
  static constexpr std::uint32_t kBits = 7;  // 128 clusters per bucket
  static std::size_t last(const Prealloc& pa) { return (pa.made_at + pa.made_len - 1) >> kBits; }

  std::vector<std::vector<Prealloc*>> buckets_;
};

}  // namespace e4r::state
