// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// A condition of comparisons (== != < <= > >=), joined by && and ||, negated by !, grouped by ( ).
// && binds more tightly than ||. A comparison has a tunable on one side and a tunable or a number
// on the other. Or it compares `policy` or `capture` by == or != with one of the sweep's, given as
// a word or as a text in ' or ". A policy's alias stands for the policy.
class Where {
 public:
  // The error gives the position, counted from 1, and the fault. For an unknown name it lists the
  // known ones. An empty text always holds.
  [[nodiscard]] static Result<Where> parse(std::string_view text, const Vocabulary& vocabulary);

  [[nodiscard]] bool holds(const Combination& point) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;  // null: always holds
};

}  // namespace e4r::sweep
