// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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

namespace e4r::report {

// What the recorded kernel did itself, told by the same figures as a run. Each recorded result was
// put in place, so files and free space are the recorded ones however well the model decides; what
// searches took is what the kernel counted, or what the trace shows of it. A run's costs and
// explanations are empty here.
struct RecordedKernel {
  std::optional<results::Outcome> run;  // empty if the trace does not say; then see `absent`
  std::string absent;
  // Why the searches are as the closing events show them; empty: they are as mb_stats counts them.
  std::string why_not;

  [[nodiscard]] bool by_mb_stats() const { return why_not.empty(); }
};

// An option of the recorded mount that the model knows nothing of.
struct NotModelled {
  std::string option;   // "discard"
  std::string meaning;  // for a person
};

// A file of many extents, as each column left it.
struct FragmentedFile {
  std::uint64_t ino = 0;
  std::string path;     // bytes, at the start; empty: not known
  bool is_new = false;  // made while it was recorded: the image has no path of it
  // In the order of columns(); no extents: the file has no block there.
  std::vector<stats::FilePieces> columns;
};
// Those with most extents in any column, the worst first.
struct FragmentedFiles {
  std::vector<FragmentedFile> files;
  std::uint64_t all = 0;   // files that the columns have
  bool has_paths = false;  // the image has inodes
};

// How the policy of the recorded kernel was chosen.
struct PolicyChoice {
  std::string policy;
  // The policies that stand for the recorded release, the latest rules first. Empty: the release is
  // unknown, or no policy stands for it.
  std::vector<std::string> allowed;
  std::optional<bool> kernels_own;  // Agreement::is_kernels_own() under that policy
};

// The program that made the requests of a replay without a trace (app/workload.h).
struct WorkloadFacts {
  std::string text;    // as given
  std::string policy;  // served it while the requests were made
  std::uint64_t files = 0;
  std::uint64_t writers = 0;
  std::uint64_t operations = 0;
  std::uint64_t requests = 0;        // to the allocator
  std::uint64_t failed = 0;          // requests and writes that found no space
  std::uint64_t bytes_wanted = 0;    // to be written
  std::uint64_t bytes_lost = 0;      // of these, not written because there was no space
  std::vector<std::string> ignored;  // settings of a job file that do not change allocations
};

// Everything that `e4replay replay` and `e4replay verify` tell.
struct ReplayReport {
  std::string image_path;
  image::SuperblockInfo superblock;
  std::uint64_t bad_groups = 0;
  std::string trace_path;
  std::string device;
  trace::TraceSummary trace;
  std::optional<WorkloadFacts> workload;  // instead of a recording
  std::string release;                    // of the recorded kernel, as `uname -r`; empty: not known
  results::Outcome start;                 // the image at the start
  std::vector<NotModelled> not_modelled;  // empty when nothing is known of the mount
  // What a file system that had been mounted before held in memory, as far as the trace shows it.
  std::optional<replay::WarmStart> warm;
  std::uint64_t groups_read_early = 0;  // Session::groups_read_early()
  // How far the model follows the recorded kernel on this trace, which is what the answers are
  // worth.
  std::optional<replay::Agreement> recorded;
  std::string recorded_policy;
  std::optional<PolicyChoice> choice;     // empty if the caller named the policy to follow
  std::optional<RecordedKernel> kernel;   // of replay
  replay::Contradictions contradictions;  // of the trace, as following it found them
  std::vector<results::Outcome> runs;
  // Under the recorded policy: in the order in which overlapping allocations took effect, and then
  // in other orders that the trace allows. Empty if no allocations overlap.
  std::vector<results::Outcome> orders;
  std::optional<FragmentedFiles> fragmented;  // of replay --files
  contention::Pace pace;                      // of the writers in Outcome::by_writers
};

// What text and page say of a workload, in lines.
[[nodiscard]] std::vector<std::string> workload_text(const WorkloadFacts& workload);

// The recorded kernel: its release, or what the trace shows of it ("6.5 or later").
[[nodiscard]] std::string kernel_text(const ReplayReport& report);

// Says how the policy was chosen. Empty if the release allows one policy and it is that one, or if
// the release is unknown.
[[nodiscard]] std::string choice_text(const ReplayReport& report);
// Says which reads of bitmaps were assumed to have ended early. Empty if no reads were.
[[nodiscard]] std::string early_reads_text(const ReplayReport& report);
// Says that no policy is the recorded kernel's, and which is the nearest. Empty if one is, if
// nothing tells, or if the caller named the policy.
[[nodiscard]] std::string doubt_text(const ReplayReport& report);

// The kernel's mb_stats of the recorded run, or why they are missing.
struct KernelStats {
  std::optional<stats::KnownCounters> stats;
  std::string why_not;
};

// The same of the recorded kernel, from the run that followed it.
[[nodiscard]] RecordedKernel summarize_recorded(const replay::Run& followed, KernelStats kernel);

// Where the figures of the recorded kernel's searches come from, or why it has no column.
[[nodiscard]] std::string recorded_text(const RecordedKernel& kernel);

// Searches that ended past the last criterion, explained; empty when no column has any.
[[nodiscard]] std::string past_last_text(const ReplayReport& report);

// Headline, inputs, and a side-by-side table of what the policies did.
struct TextOptions {
  bool histogram = false;  // free extents by size, too
  bool all = false;        // every row of the table (choose_rows())
};
[[nodiscard]] std::string replay_text(const ReplayReport& report, const TextOptions& options = {});

// The same comparison as a self-contained HTML page, histograms included.
[[nodiscard]] std::string replay_html(const ReplayReport& report);

// What verify says of one run, for a terminal and as a page.
[[nodiscard]] std::string verify_text(const ReplayReport& report);
[[nodiscard]] std::string verify_html(const ReplayReport& report);

// The JSON document of `replay` (schema e4replay-replay/1), or, of runs that were compared with the
// recorded kernel, of `verify` (schema e4replay-verify/1), indented, with a newline.
[[nodiscard]] std::string replay_json(const ReplayReport& report);

// What a table of runs has: columns, and the rows that it shows.

// What tables and plots show side by side: the recorded kernel, where it has a column, then each
// policy.
struct Column {
  std::string name;  // "recorded", or the policy's
  const results::Outcome* run = nullptr;
  bool recorded = false;
};
[[nodiscard]] std::vector<Column> columns(const ReplayReport& report);
// The same behind a column of the image at the start, "start", which has free space alone.
[[nodiscard]] std::vector<Column> columns_with_start(const ReplayReport& report);
// Which of columns() is the first policy. What differs is told against that one: model against
// model.
[[nodiscard]] std::size_t first_policy(const ReplayReport& report);

// The row's figure for each column, and whether the whole table has the row.
[[nodiscard]] std::vector<results::Value> values_of(const results::Row& row,
                                                    const std::vector<Column>& columns);
// By how many percent at most a figure varies by luck alone: in the other orders of
// ReplayReport::orders, against the first one. 0 without such orders.
[[nodiscard]] double luck_of(const ReplayReport& report,
                             const std::function<results::Value(const results::Outcome&)>& figure);
// What "luck" beside a change means; empty without other orders.
[[nodiscard]] std::string luck_text(const ReplayReport& report);
// How the last policy's figure differs from the first policy's.
[[nodiscard]] std::string change_text(const ReplayReport& report, const results::Row& row,
                                      const std::vector<results::Value>& values);
[[nodiscard]] bool is_shown(const results::Row& row, const std::vector<results::Value>& values);

// What a table shows of all its rows.
struct RowChoice {
  std::vector<const results::Row*> rows;
  std::size_t left_out = 0;  // rows that say the same in every column
};
// All of them, or those that differ between columns and those that most people ask for. A part of
// another row comes with that row.
[[nodiscard]] RowChoice choose_rows(const ReplayReport& report, bool all);

// Heads the column of how the second of two policies differs from the first; empty when there are
// not two.
[[nodiscard]] std::string change_head(const ReplayReport& report);

// What text and page say of how far a replay decided like the recorded kernel.

// "12.345 %", or "-" of no decisions. "100.000 %" of all decisions only.
[[nodiscard]] std::string share_text(const replay::Agreement& agreement, std::uint64_t of);

struct AgreementRow {
  std::string label;
  std::string key;  // in JSON documents
  std::uint64_t count = 0;
  bool share = false;  // of all decisions
};
[[nodiscard]] std::vector<AgreementRow> agreement_rows(const replay::Agreement& agreement);

// What it says of mb_groups, and of mb_stats, in a line; empty when they were not compared.
[[nodiscard]] std::string groups_text(const results::Outcome& run);
[[nodiscard]] std::string stats_text(const results::Outcome& run);

// What many writers would have made of the requests (results::Outcome::by_writers).

// How long they think before a request, as part of a sentence: "for 80 µs on average".
[[nodiscard]] std::string pace_text(const contention::Pace& pace);

// Whether the report has any.
[[nodiscard]] bool has_writers(const ReplayReport& report);

// A table of all policies; empty without any.
[[nodiscard]] std::string writers_text(const ReplayReport& report);

}  // namespace e4r::report
