// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "state/prealloc.h"

namespace e4r::state {

// A group's preallocations by where they lie, so that those near a range are found without a look
// at all of them. What counts is Prealloc::made_at and made_len, which stay as they are while it is
// here.
class PreallocIndex {
 public:
  void add(Prealloc& pa) {
    if (buckets_.size() <= last(pa)) buckets_.resize(last(pa) + 1);
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) buckets_[b].push_back(&pa);
  }
  // Does nothing when it is not here.
  void remove(const Prealloc& pa) {
    if (pa.made_len == 0) return;
    for (std::size_t b = pa.made_at >> kBits; b <= last(pa); ++b) std::erase(buckets_[b], &pa);
  }
  // Calls fn(pa) for those that were made of clusters near [start, start + len), some of them more
  // than once, until it returns true; whether it did. len is not 0.
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
  static constexpr std::uint32_t kBits = 7;  // 128 clusters to a bucket
  static std::size_t last(const Prealloc& pa) { return (pa.made_at + pa.made_len - 1) >> kBits; }

  std::vector<std::vector<Prealloc*>> buckets_;
};

}  // namespace e4r::state
