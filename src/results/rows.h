// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "results/outcome.h"
#include "util/condition.h"

namespace e4r::results {

// A figure: a count, a ratio, or nothing, when the run does not have it.
using Value = std::variant<std::monostate, std::uint64_t, double>;

[[nodiscard]] bool is_none(const Value& value);
[[nodiscard]] bool is_zero_or_none(const Value& value);

// The figure as a number.
[[nodiscard]] std::optional<double> number_of(const Value& value);

// Likewise, and a count stays one, which a condition compares exactly.
[[nodiscard]] std::optional<Condition::Number> exact_number_of(const Value& value);

// "1,234", "1.25", or "-" for an empty value.
[[nodiscard]] std::string text_of(const Value& value);

// How the second figure differs from the first: "-94.2 %", "x12.5", "=" when it does not, "0.0 %"
// when it hardly does, "new" behind a zero, or nothing when one of them is absent.
[[nodiscard]] std::string change_text(const Value& from, const Value& to);
// Likewise of a figure that varies by so many percent by luck alone: "+3.1 % (luck ±0.4)", and
// "= (luck ±0.4)" when it changes by no more than that.
[[nodiscard]] std::string change_text(const Value& from, const Value& to, double luck);
// That luck: by how many percent at most the figure of `runs`, all under one policy in several
// orders of overlapping requests, differs from that of the first one. 0 without runs, or if that is
// 0.
[[nodiscard]] double luck_of(std::span<const Outcome> runs,
                             const std::function<Value(const Outcome&)>& figure);

// The figures of runs. Whoever tells of runs takes them from this one table: docs/adding-a-row.md.

// When a whole table has a row. Documents have it whenever there is a figure.
enum class Show : std::uint8_t { always, nonzero /* in any column */, never };

// Which direction of a figure is better; none: the figure says what was done, not how well.
enum class Better : std::uint8_t { none, lower, higher };

// What a figure counts. A step is a group considered or an extent examined.
enum class Unit : std::uint8_t { count, steps, blocks, clusters, bytes, kib, percent, seconds, ns };

// Who tells of runs: replay, with sweep and the library; review; hunt, of what becomes worse; age;
// the simulation of many writers; watch, of a time; and its metrics, which add up over all start
// images.
enum class Teller : std::uint8_t { replay, review, hunt, age, writers, watch, metrics };
inline constexpr std::size_t kTellers = 7;
[[nodiscard]] constexpr std::uint8_t by(Teller teller) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(teller));
}
inline constexpr std::uint8_t kOutcomes = by(Teller::replay) | by(Teller::review) |
                                          by(Teller::hunt) | by(Teller::age) | by(Teller::watch) |
                                          by(Teller::metrics);

// Where a review tells of a figure. One that says what another one says, in other units, is not in
// the lists: with the same files, their extents say what extents per file says.
enum class Place : std::uint8_t {
  lists,     // what got worse and what got better, and all that follows
  cases,     // the figures of its case, and the document
  document,  // that alone
};

// How a teller calls a figure that it does not call as a replay does. hunt has review's names. The
// label of metrics is their help: a sentence without a unit.
struct Name {
  Teller teller;
  std::string key;
  std::string label = {};  // empty: no label, or the label of a replay
};

// One figure.
struct Row {
  std::string section = {};  // heading in the table of a replay
  std::string label = {};    // below a heading it begins with two blanks
  std::string key = {};      // in JSON documents, levels separated by '/'
  std::function<Value(const Outcome&)> of = {};
  Better better = Better::none;
  Unit unit = Unit::count;
  Show show = Show::always;
  bool counted = false;  // counts what has happened: it begins with 0 and never goes down
  std::string_view criterion = {};  // the one that the figure is of: the last level of such a key
  bool start = false;               // the image at the start has the figure, too
  std::uint8_t told = kOutcomes;
  std::vector<Name> names = {};
  Place place = Place::lists;
  bool common = false;  // most people ask for it: a short table has it whatever it says

  std::size_t index = 0;  // in rows(teller) as they were when it was made

  [[nodiscard]] bool is_time() const { return unit == Unit::ns; }
};

// The rows of a teller, with the keys and labels that it has for them, in the order in which they
// are told: one for each criterion that there is now (mb::ladder_criteria()). Thread-safe; good for
// as long as the program runs.
[[nodiscard]] std::span<const Row> rows(Teller teller = Teller::replay);

// Returns the row with that key, or null if the teller has no such row.
[[nodiscard]] const Row* find_row(std::string_view key, Teller teller = Teller::replay);

// Adds a row behind all others, for as long as the program runs. Rows that somebody holds stay.
// Tests show with it that a row is all that a figure needs.
void add_row(Row row);

}  // namespace e4r::results
