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

// The condition of --where: which points of a sweep are run.
namespace e4r::sweep {

// What a condition may speak of. The names must outlive the conditions made with it.
struct Vocabulary {
  std::vector<std::string_view> tunables;  // those that the sweep sets
  std::vector<std::string_view> policies;  // the sweep's, by their own names
  std::vector<std::string_view> captures;
};

// One combination: a value for each tunable of the vocabulary, in its order.
struct Combination {
  std::span<const std::uint64_t> values;
  std::string_view policy;
  std::string_view capture;
};

// A condition of comparisons (== != < <= > >=), joined by && and ||, turned round by !, grouped by
// ( ); && binds more tightly than ||. A comparison has a tunable on one side and a tunable or a
// number on the other, or `policy` or `capture` on one side and on the other, with == or !=, one of
// the sweep's: a word, or a text in ' or ". A policy's alias stands for the policy.
class Where {
 public:
  // The error names the place, counted from 1, and what is wrong there; an unknown name lists those
  // there are. An empty text holds for all.
  [[nodiscard]] static Result<Where> parse(std::string_view text, const Vocabulary& vocabulary);

  [[nodiscard]] bool holds(const Combination& point) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;  // null: holds for all
};

}  // namespace e4r::sweep
