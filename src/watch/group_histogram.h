// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "replay/accounts.h"

namespace e4r::watch {

// Counts requests by the number of groups that their searches considered, if it is known.
class GroupHistogram final : public replay::Account {
 public:
  // Bucket 0 holds requests that considered no group. Bucket i holds those with more than bound(i -
  // 1) and at most bound(i) groups. The last bucket has no upper bound.
  static constexpr std::size_t kBuckets = 19;
  [[nodiscard]] static constexpr std::uint64_t bound(std::size_t bucket) {
    return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
  }
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t groups) {
    if (groups == 0) return 0;
    return std::min<std::size_t>(1 + static_cast<std::size_t>(std::bit_width(groups - 1)),
                                 kBuckets - 1);
  }

  struct Counts {
    std::array<std::uint64_t, kBuckets> requests = {};  // by bucket
    std::uint64_t groups = 0;                           // of all requests
    void add(std::uint64_t considered) {
      ++requests[bucket_of(considered)];
      groups += considered;
    }
  };

  bool decided(const replay::Decided& one) override {
    if (const auto groups = meter_.take(one).groups) counts_.add(*groups);
    return true;
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  replay::SearchMeter meter_;
  Counts counts_;
};

}  // namespace e4r::watch
