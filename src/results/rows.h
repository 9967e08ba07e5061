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

// The value of a figure: a count, a ratio, or nothing if the run does not have the figure.
using Value = std::variant<std::monostate, std::uint64_t, double>;

[[nodiscard]] bool is_none(const Value& value);
[[nodiscard]] bool is_zero_or_none(const Value& value);

// The figure as a number.
[[nodiscard]] std::optional<double> number_of(const Value& value);

// Like number_of(), but a count stays an integer, so that a condition compares it exactly.
[[nodiscard]] std::optional<Condition::Number> exact_number_of(const Value& value);

// Formats a figure: "1,234", "1.25", or "-" for an empty value.
[[nodiscard]] std::string text_of(const Value& value);

// Describes how the second value differs from the first: "-94.2 %", "x12.5", "=" if it is equal,
// "0.0 %" if it is nearly equal, "new" if the first is zero, or nothing if either is absent.
[[nodiscard]] std::string change_text(const Value& from, const Value& to);
// Like change_text(from, to), for a figure that varies by up to `luck` percent by chance: "+3.1 %
// (luck ±0.4)", or "= (luck ±0.4)" if it changes by no more than that.
[[nodiscard]] std::string change_text(const Value& from, const Value& to, double luck);
// The variation by chance of a figure, in percent: the largest difference between its value in the
// first run and its value in another run. All runs have the same policy and differ in the order of
// overlapping requests. 0 if there are no runs or the first value is 0.
[[nodiscard]] double luck_of(std::span<const Outcome> runs,
                             const std::function<Value(const Outcome&)>& figure);

// The figures of runs. All code that reports runs takes them from this one table
// (docs/adding-a-row.md).

// When the full table shows a row. JSON documents contain it whenever the run has the figure.
enum class Show : std::uint8_t { always, nonzero /* in any column */, never };

// Whether a lower or a higher figure is better. none: the figure says nothing about quality.
enum class Better : std::uint8_t { none, lower, higher };

// The unit of a figure. A step is a group considered or an extent examined.
enum class Unit : std::uint8_t { count, steps, blocks, clusters, bytes, kib, percent, seconds, ns };

// The commands that report runs. replay also stands for sweep and the library. hunt reports what
// becomes worse. writers is the simulation of many writers. watch reports one period. metrics
// stands for the metrics of watch, which add up over all start images.
enum class Reporter : std::uint8_t { replay, review, hunt, age, writers, watch, metrics };
inline constexpr std::size_t kReporters = 7;
[[nodiscard]] constexpr std::uint8_t by(Reporter reporter) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(reporter));
}
inline constexpr std::uint8_t kOutcomes = by(Reporter::replay) | by(Reporter::review) |
                                          by(Reporter::hunt) | by(Reporter::age) |
                                          by(Reporter::watch) | by(Reporter::metrics);

// Where a review shows a figure. The lists leave out a figure that only repeats another one in
// other units. For example, if the number of files is the same, extents per file repeats extents.
enum class Place : std::uint8_t {
  lists,     // in the lists of what got worse and better, and in all places below
  cases,     // among the figures of its case, and in the document
  document,  // in the document only
};

// The name that a reporter uses for a figure, if it is not the name that a replay uses. hunt uses
// review's names. For metrics, the label is the help text: a sentence without a unit.
struct Name {
  Reporter reporter;
  std::string key;
  std::string label = {};  // empty if there is no label, or if it is the label of a replay
};

// One figure.
struct Row {
  std::string section = {};  // heading in the table of a replay
  std::string label = {};    // begins with two spaces if it is below a heading
  std::string key = {};      // in JSON documents, levels separated by '/'
  std::function<Value(const Outcome&)> of = {};
  Better better = Better::none;
  Unit unit = Unit::count;
  Show show = Show::always;
  bool counted = false;             // counts what has happened: it begins at 0 and never decreases
  std::string_view criterion = {};  // the criterion of the figure: the last level of its key
  bool start = false;               // the start image has the figure, too
  std::uint8_t reporters = kOutcomes;
  std::vector<Name> names = {};
  Place place = Place::lists;
  bool common = false;  // most users want it, so a short table always shows it

  std::size_t index = 0;  // position in rows(reporter) at the time when it was made

  [[nodiscard]] bool is_time() const { return unit == Unit::ns; }
};

// The rows of a reporter, with its own keys and labels, in the order in which it shows them.
// Per-criterion figures have one row for each criterion that exists now (mb::ladder_criteria()).
// Thread-safe. Valid until the program ends.
[[nodiscard]] std::span<const Row> rows(Reporter reporter = Reporter::replay);

// Returns the row with that key, or null if the reporter has no such row.
[[nodiscard]] const Row* find_row(std::string_view key, Reporter reporter = Reporter::replay);

// Adds a row after all others, until the program ends. Spans and pointers returned earlier stay
// valid. Tests use it to show that adding a row is all that a new figure needs.
void add_row(Row row);

}  // namespace e4r::results
