// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/course.h"

namespace e4r::replay {

// The cost of searches in the course of a trace. Groups considered and extents examined are
// *steps*.
class CostProfile {
 public:
  static constexpr std::size_t kSlowest = 10;

  // The requests of a run of decisions.
  struct Bucket {
    std::uint64_t requests = 0;
    std::uint64_t steps = 0;  // of all requests
    std::uint64_t most = 0;   // of one request
    void join(const Bucket& other);
  };
  // The first request of one decision. Its number in the trace counts from 1, as in Engine.
  struct Decision {
    std::uint64_t number = 0;
    std::uint64_t groups = 0;
    std::uint64_t extents = 0;
    [[nodiscard]] std::uint64_t steps() const { return groups + extents; }
  };

  // Adds the cost of a request. Decisions come in ascending order, from 1.
  void add(std::uint64_t decision, std::uint64_t groups, std::uint64_t extents);

  [[nodiscard]] const Course<Bucket>& course() const { return course_; }
  [[nodiscard]] std::uint64_t decisions() const { return last_; }
  // The decisions with the most steps, most first; the earlier first among equals.
  [[nodiscard]] std::span<const Decision> slowest() const { return slowest_; }

 private:
  void rank(const Decision& decision);

  Course<Bucket> course_;
  std::vector<Decision> slowest_;
  std::uint64_t last_ = 0;  // the last decision
};

}  // namespace e4r::replay
