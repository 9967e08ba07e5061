// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/decision.h"

#include <algorithm>

namespace e4r::allocator {

void DecisionTimes::add(const Decision& decision) {
  if (decision.ns == 0) return;
  const auto criterion = decision.prealloc ? mb::Criterion::unknown : decision.criterion;
  for (Sum* sum : {&all_, &of_[static_cast<std::size_t>(criterion)]}) {
    ++sum->count;
    sum->ns += decision.ns;
  }
  times_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(decision.ns, UINT32_MAX)));
}

std::optional<std::uint64_t> DecisionTimes::Sum::mean() const {
  if (count == 0) return std::nullopt;
  return (ns + count / 2) / count;
}

std::optional<std::uint64_t> DecisionTimes::mean() const {
  return all_.mean();
}

std::optional<std::uint64_t> DecisionTimes::mean_of(mb::Criterion criterion) const {
  return of_[static_cast<std::size_t>(criterion)].mean();
}

std::optional<std::uint64_t> DecisionTimes::percentile(double share) const {
  if (times_.empty()) return std::nullopt;
  std::vector<std::uint32_t> times = times_;
  const auto last = static_cast<double>(times.size() - 1);
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(last * std::clamp(share, 0.0, 1.0));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

}  // namespace e4r::allocator
