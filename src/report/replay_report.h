// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocator/decision_times.h"
#include "allocator/discards.h"
#include "allocator/policy.h"
#include "contention/simulation.h"
#include "image/fs_info.h"
#include "replay/agreement.h"
#include "replay/cost_profile.h"
#include "replay/intake.h"
#include "replay/session.h"
#include "replay/tally.h"
#include "replay/warm_start.h"
#include "replay/write_order.h"
#include "stats/free_chunks.h"
#include "stats/free_extents.h"
#include "stats/layout.h"
#include "stats/mb_files.h"
#include "stats/settled.h"
#include "stats/space_history.h"
#include "trace/summary.h"

namespace e4r::report {

// Where a run parts from the first one (replay --first-difference).
struct Parting {
  std::string_view from;       // the first one's policy
  std::uint64_t requests = 0;  // that one made
  std::uint64_t alike = 0;     // from the first on, that came to the same in both
  std::uint64_t decision = 0;  // of the trace, where they part; 0: nowhere
  std::string theirs, made;    // what the first one and this one made of it; "": no request
};

// What became of the requests with many writers, and of their files.
struct ByWriters {
  contention::Outcome outcome;
  stats::FileFragmentation files;
  stats::FileLayoutScore layout;
};

// How a replay ended, ready to be told.
struct RunReport {
  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  replay::Tally tally;
  // As kernels count; of the recorded kernel's column: those that are known. Rows show what they
  // mean.
  std::vector<stats::MbStat> mb_stats;
  // Searches that ended past the last criterion. Kernels that have them count each as a useless
  // loop of their first criterion. None: the criteria of the trace have no names that we know.
  std::optional<std::uint64_t> past_last;
  stats::FreeExtents free_extents;
  stats::FileFragmentation files;
  stats::FileLayoutScore layout;
  stats::FreeSpace space;
  stats::SpaceHistory history;         // of replay --html
  std::vector<std::string> explained;  // of replay --html: those of costs.slowest(), in their order
  replay::CostProfile costs;
  allocator::DecisionTimes times;    // of a kernel's code; empty of a model
  std::uint64_t decisions_hash = 0;  // allocator::DecisionHash
  replay::WriteOrder write_order;
  // Of a mount with discard; none where nobody knows.
  std::optional<allocator::DiscardCounts> discards;
  double ready_s = 0;  // as in replay::Run, and how fast it was from then on
  double elapsed_s = 0;
  [[nodiscard]] double requests_per_s() const;
  std::optional<Parting> parting;  // of replay --first-difference, but for the first run
  // Of replay --writers: what became of the requests with so many of them, by the numbers asked
  // for.
  std::vector<ByWriters> by_writers;
  std::string explanation;  // of the decision that was asked for, or of the first divergence

  // verify only
  std::optional<replay::Agreement> agreement;
  std::optional<replay::Agreement> free_run;
  std::optional<stats::MbGroupsComparison> groups;       // against the kernel's mb_groups
  std::optional<stats::MbStatsComparison> kernel_stats;  // against its mb_stats

  // The policy was compared with no kernel's decisions.
  [[nodiscard]] bool unverified() const { return policy->verified.empty(); }

  // True when there were decisions, and every decision, group and counter equals the kernel's.
  [[nodiscard]] bool agrees() const;
};

// What the recorded kernel did itself, told by the same figures as a run. Each recorded result was
// put in place, so files and free space are the recorded ones however well the model decides; what
// searches took is what the kernel counted, or what the trace shows of it. A run's costs and
// explanations are empty here.
struct RecordedKernel {
  std::optional<RunReport> run;  // none where the trace does not say: `absent` tells why
  std::string absent;
  bool by_mb_stats = false;  // the searches: by the kernel's mb_stats, else by the closing events
  std::string why_not;       // not by mb_stats
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

// Everything that `e4replay replay` and `e4replay verify` tell.
struct ReplayReport {
  std::string image_path;
  image::SuperblockInfo superblock;
  std::uint64_t bad_groups = 0;
  std::string trace_path;
  std::string device;
  trace::TraceSummary trace;
  std::string release;        // of the recorded kernel, as `uname -r`; empty: not known
  stats::FreeExtents before;  // of the start image
  stats::FreeSpace space_before;
  std::vector<NotModelled> not_modelled;  // empty when nothing is known of the mount
  // What a file system that had been mounted before held in memory, as far as the trace shows it.
  std::optional<replay::WarmStart> warm;
  // How far the model follows the recorded kernel on this trace, which is what the answers are
  // worth.
  std::optional<replay::Agreement> recorded;
  std::string recorded_policy;
  std::optional<RecordedKernel> kernel;   // of replay
  replay::Contradictions contradictions;  // of the trace, as following it found them
  std::vector<RunReport> runs;
  std::optional<FragmentedFiles> fragmented;  // of replay --files
};

// The recorded kernel: its release, or what the trace shows of it ("6.5 or later").
[[nodiscard]] std::string kernel_text(const ReplayReport& report);

// Takes from a run what is to be told.
[[nodiscard]] RunReport summarize(const replay::Run& run);

// The kernel's mb_stats of the recorded run, or why there is none.
struct KernelStats {
  std::optional<std::vector<stats::MbStat>> stats;
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

// The JSON document of `replay` (schema e4replay-replay/1), or, of runs that were held against the
// recorded kernel, of `verify` (schema e4replay-verify/1), indented, with a newline.
[[nodiscard]] std::string replay_json(const ReplayReport& report);

}  // namespace e4r::report
