// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/cost_profile.h"

#include <algorithm>

namespace e4r::replay {

// Halves the number of buckets.
void CostProfile::fold() {
  const std::size_t half = (buckets_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    Bucket both = buckets_[2 * i];
    if (2 * i + 1 < buckets_.size()) {
      const Bucket& right = buckets_[2 * i + 1];
      both.requests += right.requests;
      both.steps += right.steps;
      both.most = std::max(both.most, right.most);
    }
    buckets_[i] = both;
  }
  buckets_.resize(half);
  ++shift_;
}

void CostProfile::rank(const Decision& decision) {
  const auto after = std::find_if(slowest_.begin(), slowest_.end(),
                                  [&](const Decision& d) { return d.steps() < decision.steps(); });
  slowest_.insert(after, decision);
  if (slowest_.size() > kSlowest) slowest_.pop_back();
}

void CostProfile::add(std::uint64_t decision, std::uint64_t groups, std::uint64_t extents) {
  while ((decision - 1) >> shift_ >= kBuckets) fold();
  const auto index = static_cast<std::size_t>((decision - 1) >> shift_);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  const std::uint64_t steps = groups + extents;
  Bucket& bucket = buckets_[index];
  ++bucket.requests;
  bucket.steps += steps;
  bucket.most = std::max(bucket.most, steps);
  if (decision == last_) return;
  last_ = decision;
  if (steps > 0 && (slowest_.size() < kSlowest || steps > slowest_.back().steps()))
    rank({decision, groups, extents});
}

}  // namespace e4r::replay
