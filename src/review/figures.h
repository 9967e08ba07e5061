// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "app/ageing.h"
#include "report/replay_report.h"
#include "review/review.h"

// The figures of a review, of what decided in two ways.
namespace e4r::review {

// What one policy has come to: of a replay or of a file system that was aged.
struct Outcome {
  std::uint64_t requests = 0;
  std::optional<std::uint64_t> failed;  // for want of space; an aged file system would have stopped
  std::array<std::optional<std::uint64_t>, mb::kCriteria> hits = {};  // by criterion
  std::optional<std::uint64_t> groups_considered, extents_scanned;
  allocator::DecisionTimes times;
  stats::FileFragmentation files;
  stats::FileLayoutScore layout;
  stats::FreeExtents free;
  std::uint64_t decisions_hash = 0;
  // Requests whose answer hung on a value that the trace does not show (allocator::Decision).
  std::uint64_t guessed_sizes = 0, guessed_writers = 0;
};
// The key of the mean time of a request.
inline constexpr std::string_view kMeanTime = "decision_ns/mean";
// Those of guesses, which only cases with such requests have.
inline constexpr std::string_view kGuessedSizes = "guessed_sizes",
                                  kGuessedWriters = "guessed_writers";

[[nodiscard]] Outcome outcome_of(const report::RunReport& run);
[[nodiscard]] Outcome outcome_of(const app::AgedFigures& aged);

// Side by side. `block_size` in bytes.
[[nodiscard]] std::vector<Figure> figures_of(const Outcome& base, const Outcome& with,
                                             std::uint32_t block_size);

}  // namespace e4r::review
