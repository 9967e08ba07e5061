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

// The names that a condition may use. They must outlive its conditions.
struct Vocabulary {
  std::vector<std::string_view> tunables;  // those that the sweep sets
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
// `capture`, compared with one of the sweep's. A policy's alias stands for the policy.
class Where {
 public:
  // The error gives the position, counted from 1, and the fault. For an unknown name it lists the
  // known ones. An empty text always holds.
  [[nodiscard]] static Result<Where> parse(std::string_view text, const Vocabulary& vocabulary);

  [[nodiscard]] bool holds(const Combination& point) const;

 private:
  Condition condition_;
};

}  // namespace e4r::sweep
