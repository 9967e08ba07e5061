// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "image/image.h"
#include "replay/agreement.h"
#include "replay/intake.h"
#include "replay/session.h"
#include "replay/warm_start.h"
#include "results/outcome.h"
#include "results/rows.h"
#include "trace/summary.h"

// The files with the most extents (replay --files).
namespace e4r::report {

// The recorded kernel's own results, as figures of a run. The replay took over each recorded
// result, so files and free space are the recorded ones even where the model decides otherwise. The
// cost of searches is the kernel's own count or, if that is missing, the count that the trace
// shows. `run` has no costs and no explanations of single decisions.
struct RecordedKernel {
  std::optional<results::Outcome> run;  // empty if the trace does not show it; then `absent` says
                                        // why
  std::string absent;
  // Why the figures of searches come from the closing events; empty if they come from mb_stats.
  std::string why_not;

  [[nodiscard]] bool by_mb_stats() const { return why_not.empty(); }
};

// An option of the recorded mount that the model does not implement.
struct NotModelled {
  std::string option;   // "discard"
  std::string meaning;  // an explanation for the user
};

// A file with many extents, as each column left it.
struct FragmentedFile {
  std::uint64_t ino = 0;
  std::string path;     // its path at the start, unescaped; empty if unknown
  bool is_new = false;  // created during the recording, so the image has no path for it
  // In the order of columns(). No extents if the file has no blocks in that column.
  std::vector<stats::FilePieces> columns;
};
// The files with the most extents in any column, the worst first.
struct FragmentedFiles {
  std::vector<FragmentedFile> files;
  std::uint64_t all = 0;   // number of files in the columns
  bool has_paths = false;  // the image has inodes
};

// How the policy of the recorded kernel was chosen.
struct PolicyChoice {
  std::string policy;
  // The policies that model the recorded release. The policies with the latest rules come first.
  // Empty if the release is unknown or no policy models it.
  std::vector<std::string> allowed;
  std::optional<bool> kernels_own;  // Agreement::is_kernels_own() under that policy
};

// The program that made the requests in a replay without a trace (app/workload.h).
struct WorkloadFacts {
  std::string text;    // as the user gave it
  std::string policy;  // the policy that decided while the requests were made
  std::uint64_t files = 0;
  std::uint64_t writers = 0;
  std::uint64_t operations = 0;
  std::uint64_t requests = 0;        // requests to the allocator
  std::uint64_t failed = 0;          // requests and writes that found no space
  std::uint64_t bytes_wanted = 0;    // bytes to be written
  std::uint64_t bytes_lost = 0;      // how many of these were not written because there was no
                                     // space
  std::vector<std::string> ignored;  // settings of a job file that do not change allocations
};

// Everything that `e4replay replay` and `e4replay verify` report.
struct ReplayReport {
  std::string image_path;
  image::SuperblockInfo superblock;
  std::uint64_t bad_groups = 0;
  std::string trace_path;
  std::string device;
  trace::TraceSummary trace;
  std::optional<WorkloadFacts> workload;  // instead of a recording
  std::string release;                    // the recorded kernel's `uname -r`; empty if unknown
  results::Outcome start;                 // figures of the start image
  std::vector<NotModelled> not_modelled;  // empty if nothing is known about the mount
  // The state that the kernel had in memory at the start, as far as the trace shows it. Set if the
  // file system had been mounted before.
  std::optional<replay::WarmStart> warm;
  std::uint64_t groups_read_early = 0;  // Session::groups_read_early()
  // How closely the model follows the recorded kernel on this trace, and so how far the results can
  // be trusted.
  std::optional<replay::Agreement> recorded;
  std::string recorded_policy;
  std::optional<PolicyChoice> choice;     // empty if the caller named the policy to follow
  std::optional<RecordedKernel> kernel;   // only for replay
  replay::Contradictions contradictions;  // contradictions in the trace, found by following it
  std::vector<results::Outcome> runs;
  // Replays under the recorded policy. The first one uses the order in which overlapping
  // allocations took effect, and the others use other orders that the trace allows. Empty if no
  // allocations overlap.
  std::vector<results::Outcome> orders;
  std::optional<FragmentedFiles> fragmented;  // only for replay --files
  contention::Pace pace;                      // the pace of the writers in Outcome::by_writers
};

// The lines about a workload that the text and the page share.
[[nodiscard]] std::vector<std::string> workload_text(const WorkloadFacts& workload);

// Returns the recorded kernel's release, or what the trace shows of the release ("6.5 or later").
[[nodiscard]] std::string kernel_text(const ReplayReport& report);

// Says how the policy was chosen. Empty if the policy is the only one that the release allows, or
// if the release is unknown.
[[nodiscard]] std::string choice_text(const ReplayReport& report);
// Says which reads of bitmaps were assumed to have ended early. Empty if no reads were.
[[nodiscard]] std::string early_reads_text(const ReplayReport& report);
// Says that no policy is the recorded kernel's own, and which one is nearest. Empty if a policy is
// the kernel's own, if it is unknown whether one is, or if the caller named the policy.
[[nodiscard]] std::string doubt_text(const ReplayReport& report);

// The kernel's mb_stats of the recorded run, or why they are missing.
struct KernelStats {
  std::optional<stats::KnownCounters> stats;
  std::string why_not;
};

// The figures of the recorded kernel, from the run that followed it.
[[nodiscard]] RecordedKernel summarize_recorded(const replay::Run& followed, KernelStats kernel);

// Says where the figures of the recorded kernel's searches come from, or why it has no column.
[[nodiscard]] std::string recorded_text(const RecordedKernel& kernel);

// An explanation of searches that went past the last criterion; empty if no column has any.
[[nodiscard]] std::string past_last_text(const ReplayReport& report);

// The headline, the inputs, and a side-by-side table of the policies' figures.
struct TextOptions {
  bool histogram = false;  // also free extents by size
  bool all = false;        // every row of the table (choose_rows())
};
[[nodiscard]] std::string replay_text(const ReplayReport& report, const TextOptions& options = {});

// The same comparison as a self-contained HTML page, histograms included.
[[nodiscard]] std::string replay_html(const ReplayReport& report);

// The result of verify for one run, for a terminal and as a page.
[[nodiscard]] std::string verify_text(const ReplayReport& report);
[[nodiscard]] std::string verify_html(const ReplayReport& report);

// The JSON document of `replay` (schema e4replay-replay/1), or of `verify` (schema
// e4replay-verify/1) if the runs were compared with the recorded kernel. Indented, with a final
// newline.
[[nodiscard]] std::string replay_json(const ReplayReport& report);

// A table of runs: its columns, and the rows that it shows.

// A column of tables and plots. The recorded kernel's column comes first, if there is one. The
// columns of the policies follow.
struct Column {
  std::string name;  // "recorded", or the policy's name
  const results::Outcome* run = nullptr;
  bool recorded = false;
};
[[nodiscard]] std::vector<Column> columns(const ReplayReport& report);
// Returns columns(), preceded by a column "start" for the start image, which has figures of free
// space only.
[[nodiscard]] std::vector<Column> columns_with_start(const ReplayReport& report);
// Returns the index of the first policy in columns(). Differences are relative to the first policy
// and not to the recorded kernel, because the first policy is a model like the others.
[[nodiscard]] std::size_t first_policy(const ReplayReport& report);

// Returns the row's figure for each column.
[[nodiscard]] std::vector<results::Value> values_of(const results::Row& row,
                                                    const std::vector<Column>& columns);
// The percentage by which a figure varies by chance: the largest difference between its value in
// the first order of ReplayReport::orders and its values in the other orders. 0 if there are no
// other orders.
[[nodiscard]] double luck_of(const ReplayReport& report,
                             const std::function<results::Value(const results::Outcome&)>& figure);
// Explains the word "luck" that follows a change in the table. Empty if there are no other orders.
[[nodiscard]] std::string luck_text(const ReplayReport& report);
// Describes how the last policy's figure differs from the first policy's.
[[nodiscard]] std::string change_text(const ReplayReport& report, const results::Row& row,
                                      const std::vector<results::Value>& values);
[[nodiscard]] bool is_shown(const results::Row& row, const std::vector<results::Value>& values);

// The rows that a table shows.
struct RowChoice {
  std::vector<const results::Row*> rows;
  std::size_t left_out = 0;  // rows that are the same in every column
};
// Chooses the rows that a table shows. With `all`, chooses all rows. Otherwise chooses the rows
// that differ between columns and the rows that most users ask for. A row that is part of another
// row is chosen together with it.
[[nodiscard]] RowChoice choose_rows(const ReplayReport& report, bool all);

// The heading of the column that shows how the second policy differs from the first. Empty unless
// there are exactly two policies.
[[nodiscard]] std::string change_head(const ReplayReport& report);

// Wording shared by the text and the page: how closely the replay's decisions agree with the
// recorded kernel's.

// "12.345 %", or "-" if there were no decisions. Never rounds up to "100.000 %".
[[nodiscard]] std::string share_text(const replay::Agreement& agreement, std::uint64_t of);

struct AgreementRow {
  std::string label;
  std::string key;  // in JSON documents
  std::uint64_t count = 0;
  bool share = false;  // `count` is a share of all decisions
};
[[nodiscard]] std::vector<AgreementRow> agreement_rows(const replay::Agreement& agreement);

// One line each about mb_groups and mb_stats; empty if they were not compared.
[[nodiscard]] std::string groups_text(const results::Outcome& run);
[[nodiscard]] std::string stats_text(const results::Outcome& run);

// Simulations in which many writers make the same requests (results::Outcome::by_writers).

// Describes how long a writer thinks before a request, as part of a sentence: "for 80 µs on
// average".
[[nodiscard]] std::string pace_text(const contention::Pace& pace);

// Whether the report has figures of many writers.
[[nodiscard]] bool has_writers(const ReplayReport& report);

// Returns a table of the figures of many writers, for all policies; empty if the report has none.
[[nodiscard]] std::string writers_text(const ReplayReport& report);

// The files with the most extents (replay --files).

// Returns up to `count` files. `columns`: the files of each column, ordered by inode.
[[nodiscard]] FragmentedFiles most_fragmented(
    std::span<const std::vector<stats::FilePieces>> columns, std::size_t count);

// The list as a table for a terminal, as an array for the JSON document, and as a table for the
// page. Each is empty if the list was not requested.
[[nodiscard]] std::string fragmented_text(const ReplayReport& report);
[[nodiscard]] boost::json::array fragmented_json(const ReplayReport& report);
[[nodiscard]] std::string fragmented_html(const ReplayReport& report);

}  // namespace e4r::report
