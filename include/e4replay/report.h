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

// A figure: a count, a ratio, or nothing where there is none.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// Which way a figure is better; none: it tells what was done, not how well.
enum class Better : std::uint8_t { none, lower, higher };

// What a report shows side by side: the recorded kernel, where its figures are known, then each
// policy.
struct Column {
  std::string name;  // "recorded", or the policy's
  bool recorded = false;
};

// One figure of each column. docs/metrics.md says what it means, docs/schema what its unit is.
struct Row {
  std::string key;             // in JSON documents, levels separated by '/': "free_extents/count"
  std::string section, label;  // in the table
  Better better = Better::none;
  bool shown = false;         // in the whole table (`e4replay replay --all`)
  Value start;                // of the start image, where it has such a figure
  std::vector<Value> values;  // one for each column
};

// A decision that came out differently from the recorded one.
struct Divergence {
  std::uint64_t decision = 0;  // its number among the closed decisions, from 1
  std::uint64_t event = 0;     // the number of its event in the trace, from 1
  std::string fields;          // names of what differs, comma-separated
  std::string recorded;        // the closing event, in the trace's own form
  std::string modelled;        // the model's decision in the same form
};

// How far a model decided like the recorded kernel, over the decisions that the trace closed.
struct Agreement {
  std::uint64_t decisions = 0;
  std::uint64_t identical = 0;  // in everything that the trace shows of them
  std::uint64_t same_block = 0;
  std::uint64_t same_length = 0;
  std::uint64_t same_criterion = 0;
  std::uint64_t races = 0;  // not identical, and another thread was at work
  std::optional<Divergence> first;
  // Whether there were decisions and all of them are identical.
  [[nodiscard]] bool complete() const { return decisions > 0 && identical == decisions; }
};

// What a replay, a verification or a point of a sweep came to. Cheap to copy; all member functions
// may be called from several threads at once.
class Report {
 public:
  E4REPLAY_API Report(const Report&);
  E4REPLAY_API Report(Report&&) noexcept;
  E4REPLAY_API Report& operator=(const Report&);
  E4REPLAY_API Report& operator=(Report&&) noexcept;
  E4REPLAY_API ~Report();

  [[nodiscard]] E4REPLAY_API std::vector<Column> columns() const;
  // All rows, in the order in which the table shows them.
  [[nodiscard]] E4REPLAY_API std::vector<Row> rows() const;
  // The figure of a row, by its key, in a column; nothing when there is no such row or column.
  [[nodiscard]] E4REPLAY_API Value value(std::string_view key, std::size_t column) const;
  // Free extents at the end of a column, in blocks, with chunks of 1 MiB; nothing when there is no
  // such column.
  [[nodiscard]] E4REPLAY_API std::optional<FreeExtents> free_extents(std::size_t column) const;
  // Those of the start image.
  [[nodiscard]] E4REPLAY_API FreeExtents free_extents_before() const;

  // Of a verification: how far the policy decided like the recorded kernel. Of others: how far the
  // model follows that kernel, which is what the answers are worth.
  [[nodiscard]] E4REPLAY_API Agreement agreement() const;
  // Of a verification: every decision, group and counter equals the kernel's. Of others: false.
  [[nodiscard]] E4REPLAY_API bool agrees() const;
  // The policy that stands for the recorded kernel; empty of a verification.
  [[nodiscard]] E4REPLAY_API std::string recorded_policy() const;

  // What `e4replay replay` or `e4replay verify` prints, and its document of JSON (docs/schema).
  [[nodiscard]] E4REPLAY_API std::string text() const;
  [[nodiscard]] E4REPLAY_API std::string json() const;

 private:
  friend class Access;
  struct Data;
  explicit Report(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

}  // namespace e4replay
