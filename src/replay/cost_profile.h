// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/course.h"

namespace e4r::replay {

// What searches cost in the course of a trace: groups considered and extents examined, together
// *steps*.
class CostProfile {
 public:
  static constexpr std::size_t kSlowest = 10;

  // Of the requests in a run of decisions.
  struct Bucket {
    std::uint64_t requests = 0;
    std::uint64_t steps = 0;  // of all of them
    std::uint64_t most = 0;   // of one
    void join(const Bucket& other);
  };
  // A decision, by its number in the trace (from 1, as Engine counts them), without requests that
  // it needed beyond its first.
  struct Decision {
    std::uint64_t number = 0;
    std::uint64_t groups = 0;
    std::uint64_t extents = 0;
    [[nodiscard]] std::uint64_t steps() const { return groups + extents; }
  };

  // A request that took so much; decisions come in ascending order, from 1.
  void add(std::uint64_t decision, std::uint64_t groups, std::uint64_t extents);

  [[nodiscard]] const Course<Bucket>& course() const { return course_; }
  [[nodiscard]] std::uint64_t decisions() const { return last_; }
  // Those with most steps, most first; of equal ones the earlier first.
  [[nodiscard]] std::span<const Decision> slowest() const { return slowest_; }

 private:
  void rank(const Decision& decision);

  Course<Bucket> course_;
  std::vector<Decision> slowest_;
  std::uint64_t last_ = 0;  // decision
};

}  // namespace e4r::replay
