// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/decision.h"

namespace e4r::allocator {

// The clock of User Mode Linux has ticks of so many nanoseconds (TIMER_MULTIPLIER in
// arch/um/kernel/time.c), so no single time is known better.
inline constexpr std::uint64_t kGuestTick = 256;

// How long a kernel's code took for requests, in nanoseconds. Models are not timed.
class DecisionTimes {
 public:
  // Adds the time of a decision; ignores one that was not timed (ns is 0).
  void add(const Decision& decision);

  [[nodiscard]] bool empty() const { return times_.empty(); }
  // The mean of all times. Like the next two functions, returns nothing if no request was timed.
  [[nodiscard]] std::optional<std::uint64_t> mean() const;
  // The time that `share` of the requests, from 0 to 1, did not exceed.
  [[nodiscard]] std::optional<std::uint64_t> percentile(double share) const;
  // The mean for the requests that ended in `criterion`; `unknown` stands for those that a
  // preallocation served.
  [[nodiscard]] std::optional<std::uint64_t> mean_of(mb::Criterion criterion) const;

 private:
  struct Sum {
    std::uint64_t count = 0, ns = 0;
    [[nodiscard]] std::optional<std::uint64_t> mean() const;
  };
  Sum all_;
  std::array<Sum, mb::kCriteria> of_ = {};
  std::vector<std::uint32_t> times_;  // capped at 4 s
};

}  // namespace e4r::allocator
