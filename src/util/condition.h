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

// Conditions on figures: --where, which selects the points of a sweep, and --fail-if, which decides
// the exit status of a replay.
namespace e4r {

// The names that a condition may use.
struct ConditionNames {
  // A name that is compared with texts by == or != only, such as `policy`.
  struct Word {
    std::string_view name;
    // The text that `written` stands for. The Error lists the texts that there are.
    std::function<Result<std::string>(std::string_view written)> value_of;
  };
  std::vector<Word> words;
  // The index of a figure by its name. The Error names the figures that there are.
  std::function<Result<std::size_t>(std::string_view name)> figure;
  bool fractions = false;  // numbers may have a decimal point
};

// A condition of comparisons (== != < <= > >=), joined by && and ||, negated by !, grouped by ( ).
// && binds more tightly than ||. A comparison has a figure on one side and a figure or a number on
// the other. A figure may have a factor, "1.1 * NAME". Or it compares a word with a text. A name
// with other characters than letters, digits and _.-/:+@% stands in ' or ".
class Condition {
 public:
  using Number = std::variant<std::uint64_t, double>;

  // The error gives the position, counted from 1, and the fault. An empty text always holds.
  [[nodiscard]] static Result<Condition> parse(std::string_view text, const ConditionNames& names);

  // What the names stand for.
  struct Case {
    std::function<std::optional<Number>(std::size_t index)> figure;  // empty: there is no figure
    std::vector<std::string_view> words;                             // in the order of the names
  };
  // Empty if it depends on a figure that there is not.
  [[nodiscard]] std::optional<bool> holds(const Case& one) const;

  // The indexes of the figures that it names, each once.
  [[nodiscard]] std::vector<std::size_t> figures() const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;  // null: always holds
};

}  // namespace e4r
