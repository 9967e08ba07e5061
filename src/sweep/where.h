// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "util/condition.h"
#include "util/status.h"

// The condition of --where, which selects the points of a sweep.
namespace e4r::sweep {

// The names that a condition may use. The vocabulary must outlive conditions parsed with it.
struct Vocabulary {
  std::vector<std::string_view> tunables;  // the tunables that the sweep sets
  std::vector<std::string_view> policies;  // the sweep's policies, by their own names
  std::vector<std::string_view> captures;
};

// A combination. `values` has one value per tunable of the vocabulary, in the same order.
struct Combination {
  std::span<const std::uint64_t> values;
  std::string_view policy;
  std::string_view capture;
};

// A condition (util/condition.h) whose figures are the tunables. Its words are `policy` and
// `capture`, which are compared with names of the sweep's policies and captures. A policy's alias
// stands for the policy.
class Where {
 public:
  // The Error gives the 1-based position and the fault. For an unknown name it lists the known
  // ones. An empty condition always holds.
  [[nodiscard]] static Result<Where> parse(std::string_view text, const Vocabulary& vocabulary);

  [[nodiscard]] bool holds(const Combination& point) const;

 private:
  Condition condition_;
};

}  // namespace e4r::sweep
