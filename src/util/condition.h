// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "util/status.h"

// Conditions on figures: --where selects the points of a sweep, and --fail-if decides the exit
// status of a replay.
namespace e4r {

// The names that a condition may use.
struct ConditionNames {
  // A name that is compared with a string, by == or != only, such as `policy`.
  struct Word {
    std::string_view name;
    // Returns the string that `written` stands for. The Error lists the valid strings.
    std::function<Result<std::string>(std::string_view written)> value_of;
  };
  std::vector<Word> words;
  // Returns the index of the figure with this name. The Error lists the valid names.
  std::function<Result<std::size_t>(std::string_view name)> figure;
  bool fractions = false;  // numbers may have a decimal point
};

// Comparisons (== != < <= > >=), joined by && and ||, negated by !, grouped by ( ). && binds more
// tightly than ||. A comparison has a figure on its left and a figure or a number on its right, or
// the reverse. A figure may have a factor: "1.1 * NAME". A comparison can also compare a word with
// a string. A name that contains characters other than letters, digits and _.-/:+@% must be
// enclosed in ' or ".
class Condition {
 public:
  using Number = std::variant<std::uint64_t, double>;

  // The Error gives the 1-based position and the fault. An empty condition always holds.
  [[nodiscard]] static Result<Condition> parse(std::string_view text, const ConditionNames& names);

  // The values that the names stand for.
  struct Case {
    std::function<std::optional<Number>(std::size_t index)> figure;  // empty if there is no such
                                                                     // figure
    std::vector<std::string_view> words;                             // in the order of
                                                                     // ConditionNames::words
  };
  // Empty if the result depends on a figure that is missing.
  [[nodiscard]] std::optional<bool> holds(const Case& one) const;

  // The indexes of the figures that the condition names, each once.
  [[nodiscard]] std::vector<std::size_t> figures() const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;  // null if the condition is empty
};

}  // namespace e4r
