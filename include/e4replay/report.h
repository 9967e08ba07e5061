// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <e4replay/export.h>
#include <e4replay/free_extents.h>

namespace e4replay {

// A figure: a count or a ratio; empty if the column does not have the figure.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// Whether a lower or a higher figure is better. `none`: the figure says nothing about quality.
enum class Better : std::uint8_t { none, lower, higher };

// One column of a report. The recorded kernel comes first if its figures are known, then each
// policy.
struct Column {
  std::string name;  // "recorded", or the name of the policy
  bool recorded = false;
};

// A figure for each column. docs/metrics.md explains it; docs/schema gives its unit.
struct Row {
  std::string key;  // path in JSON documents, with '/' between levels: "free_extents/count"
  std::string section, label;  // as in the table
  Better better = Better::none;
  bool shown = false;         // the full table (`e4replay replay --all`) has the row
  Value start;                // for the start image; empty if it has no such figure
  std::vector<Value> values;  // one for each column
};

// A decision that differs from the recorded one.
struct Divergence {
  std::uint64_t decision = 0;  // number among the closed decisions, from 1
  std::uint64_t event = 0;     // number of its event in the trace, from 1
  std::string fields;          // names of the differing fields, separated by commas
  std::string recorded;        // the closing event, in the form of the trace
  std::string modelled;        // the model's decision, in the same form
};

// How many decisions of a model match those of the recorded kernel. Only closed decisions count. A
// decision is closed if the trace contains its outcome.
struct Agreement {
  std::uint64_t decisions = 0;
  std::uint64_t identical = 0;  // equal in every field that the trace shows
  std::uint64_t same_block = 0;
  std::uint64_t same_length = 0;
  std::uint64_t same_criterion = 0;
  std::uint64_t races = 0;  // not identical, but overlapped by another thread's work
  std::optional<Divergence> first;
  // True if there is at least one decision and all decisions are identical.
  [[nodiscard]] bool complete() const { return decisions > 0 && identical == decisions; }
};

// The result of a replay, a verification or a point of a sweep. Cheap to copy. Several threads may
// call member functions at once.
class Report {
 public:
  E4REPLAY_API Report(const Report&);
  E4REPLAY_API Report(Report&&) noexcept;
  E4REPLAY_API Report& operator=(const Report&);
  E4REPLAY_API Report& operator=(Report&&) noexcept;
  E4REPLAY_API ~Report();

  [[nodiscard]] E4REPLAY_API std::vector<Column> columns() const;
  // All rows, in the order of the table.
  [[nodiscard]] E4REPLAY_API std::vector<Row> rows() const;
  // The value of a column in the row with that key. Empty if the row or the column does not exist.
  [[nodiscard]] E4REPLAY_API Value value(std::string_view key, std::size_t column) const;
  // The free extents at the end of the column's run, in blocks, with chunks of 1 MiB. nullopt if
  // there is no such column.
  [[nodiscard]] E4REPLAY_API std::optional<FreeExtents> free_extents(std::size_t column) const;
  // The free extents of the start image.
  [[nodiscard]] E4REPLAY_API FreeExtents free_extents_before() const;

  // For a verification, compares the policy's decisions with the recorded kernel's. For any other
  // report, compares those of the policy that models the recorded kernel. That agreement shows how
  // reliable the other figures are.
  [[nodiscard]] E4REPLAY_API Agreement agreement() const;
  // True if this is a verification and every decision, group and counter equals the kernel's.
  [[nodiscard]] E4REPLAY_API bool agrees() const;
  // The policy that models the recorded kernel; empty for a verification.
  [[nodiscard]] E4REPLAY_API std::string recorded_policy() const;

  // The text that `e4replay replay` or `e4replay verify` prints, and its JSON document
  // (docs/schema).
  [[nodiscard]] E4REPLAY_API std::string text() const;
  [[nodiscard]] E4REPLAY_API std::string json() const;

 private:
  friend class Access;
  struct Data;
  explicit Report(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

}  // namespace e4replay
