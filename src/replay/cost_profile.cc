// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/cost_profile.h"

#include <algorithm>

namespace e4r::replay {

void CostProfile::Bucket::join(const Bucket& other) {
  requests += other.requests;
  steps += other.steps;
  most = std::max(most, other.most);
}

void CostProfile::rank(const Decision& decision) {
  const auto after = std::find_if(slowest_.begin(), slowest_.end(),
                                  [&](const Decision& d) { return d.steps() < decision.steps(); });
  slowest_.insert(after, decision);
  if (slowest_.size() > kSlowest) slowest_.pop_back();
}

void CostProfile::add(std::uint64_t decision, std::uint64_t groups, std::uint64_t extents) {
  const std::uint64_t steps = groups + extents;
  course_.at(decision).join({1, steps, steps});
  if (decision == last_) return;
  last_ = decision;
  if (steps > 0 && (slowest_.size() < kSlowest || steps > slowest_.back().steps()))
    rank({decision, groups, extents});
}

}  // namespace e4r::replay
