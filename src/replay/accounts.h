// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "allocator/counters.h"
#include "allocator/decision.h"
#include "allocator/request.h"
#include "replay/op_stream.h"
#include "replay/translation.h"
#include "trace/event.h"
#include "util/recent_map.h"
#include "util/status.h"

namespace e4r::replay {

// A count over the course of a trace in at most kBuckets buckets, however long the trace is. Bucket
// i holds the decisions [1 + i * width(), 1 + (i + 1) * width()). A Bucket has join(other), which
// adds the counts of a later run of decisions.
template <class Bucket>
class Course {
 public:
  static constexpr std::size_t kBuckets = 512;

  // The bucket of a decision; decisions count from 1.
  [[nodiscard]] Bucket& at(std::uint64_t decision) {
    while ((decision - 1) >> shift_ >= kBuckets) fold();
    const auto index = static_cast<std::size_t>((decision - 1) >> shift_);
    if (index >= buckets_.size()) buckets_.resize(index + 1);
    return buckets_[index];
  }
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }
  [[nodiscard]] std::uint64_t width() const { return std::uint64_t{1} << shift_; }

 private:
  // Halves the number of buckets.
  void fold() {
    const std::size_t half = (buckets_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
      Bucket both = buckets_[2 * i];
      if (2 * i + 1 < buckets_.size()) both.join(buckets_[2 * i + 1]);
      buckets_[i] = both;
    }
    buckets_.resize(half);
    ++shift_;
  }

  std::vector<Bucket> buckets_;
  std::uint32_t shift_ = 0;
};

// What happened, besides the allocator's own counters.
struct Tally {
  std::uint64_t requests = 0;  // allocations decided
  std::uint64_t metadata = 0;  // allocations without HINT_DATA
  // Metadata allocations for the mapping blocks of regular files (extent tree nodes, indirect
  // blocks). A file's layout decides how many it needs. A replay that places the data otherwise
  // still makes as many as were recorded.
  std::uint64_t mapping = 0;
  std::uint64_t allocated_blocks = 0;
  std::uint64_t failed = 0;    // no space
  std::uint64_t refused = 0;   // turned away by the kernel before its allocator
  std::uint64_t absorbed = 0;  // recorded requests that an earlier request had served already
  std::uint64_t extra = 0;     // requests that the recorded kernel did not need
  std::uint64_t freed_clusters = 0;
  std::uint64_t bad_frees = 0;  // frees of blocks that are not in use
  std::uint64_t commits = 0;
  std::uint64_t guessed_sizes = 0;    // Decision::size_guessed
  std::uint64_t guessed_writers = 0;  // Decision::writers_guessed
  std::uint64_t unanswered = 0;       // allocations cut off by the end of the trace
  std::uint64_t lost_events = 0;
  std::uint64_t bad_requests = 0;  // Contradictions::outside
};

// What the closing events and answers of a trace show of the recorded kernel's own counters
// (ext4_mb_collect_stats, Linux 6.1 to 7.3). An event holds extents found and groups scanned modulo
// 65536.
struct ClosingCounts {
  std::uint64_t requests = 0;         // closed decisions
  std::uint64_t success = 0;          // requests that got all they asked for
  std::uint64_t failed = 0;           // requests that got nothing
  std::uint64_t allocated = 0;        // clusters
  std::uint64_t extents_scanned = 0;  // by searches
  std::uint64_t groups_scanned = 0;
  std::uint64_t goal_hits = 0;      // served at the start of the goal
  std::uint64_t len_goal_hits = 0;  // found as many clusters as the goal had
  // Group searches by the criterion that ended them. A search that found its goal has no criterion.
  std::array<std::uint64_t, mb::kCriteria> hits{};
  std::uint64_t nameless = 0;  // ended by a criterion whose name is unknown
  // Goals that a criterion shortened without a record of their length. Whether such a search found
  // the whole goal is unknown.
  std::uint64_t goals_hidden = 0;

  allocator::DecisionHash hash;

  void count(const Op& op, const Geometry& geometry);
};

// The cost of searches in the course of a trace. Groups considered and extents examined are
// *steps*.
class CostProfile {
 public:
  static constexpr std::size_t kSlowest = 10;

  // The requests of a run of decisions.
  struct Bucket {
    std::uint64_t requests = 0;
    std::uint64_t steps = 0;  // of all requests
    std::uint64_t most = 0;   // of one request
    void join(const Bucket& other);
  };
  // The first request of one decision. Its number in the trace counts from 1, as in Engine.
  struct Decision {
    std::uint64_t number = 0;
    std::uint64_t groups = 0;
    std::uint64_t extents = 0;
    [[nodiscard]] std::uint64_t steps() const { return groups + extents; }
  };

  // Adds the cost of a request. Decisions come in ascending order, from 1.
  void add(std::uint64_t decision, std::uint64_t groups, std::uint64_t extents);

  [[nodiscard]] const Course<Bucket>& course() const { return course_; }
  [[nodiscard]] std::uint64_t decisions() const { return last_; }
  // The decisions with the most steps, most first; the earlier first among equals.
  [[nodiscard]] std::span<const Decision> slowest() const { return slowest_; }

 private:
  void rank(const Decision& decision);

  Course<Bucket> course_;
  std::vector<Decision> slowest_;
  std::uint64_t last_ = 0;  // the last decision
};

// The order in which blocks of files were allocated (docs/metrics.md). Allocations of data follow
// each other as decided; the blocks of one allocation, as they lie in the file. Counts are taken as
// allocations happen, so they include files that are gone by the end.
struct WriteOrder {
  std::uint64_t allocations = 0;  // of data
  std::uint64_t adjacent = 0;     // began on the device where the previous one had ended
  std::uint64_t neighbours = 0;   // pairs of blocks that follow each other in a file
  std::uint64_t in_order = 0;     // neighbours with no other block handed out between the two
  std::uint64_t continued = 0;    // allocations that begin right behind a block of their file
  std::uint64_t interrupted = 0;  // continued ones with another allocation in between

  // `file`: the layout before this allocation. Ignores an extent of length 0.
  void add(std::uint64_t ino, const FileLayout& file, const FileExtent& extent);

 private:
  std::uint64_t last_ino_ = 0;
  FileExtent last_;
};

// The outcome of each request of a run, 16 bytes each. The logs of two runs of a trace show where
// they part; a second run then writes that decision down.
class DecisionLog {
 public:
  struct Entry {
    std::uint64_t decision;  // its number in the trace, from 1; further requests repeat it
    std::uint64_t digest;    // of the closing event that it would have
  };
  // `write_down`: see Accounts::write_down.
  explicit DecisionLog(const std::vector<std::uint64_t>& write_down = {}) {
    for (const std::uint64_t entry : write_down) texts_[entry];
  }

  void add(std::uint64_t decision, const allocator::Decision& made);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // describe() of an entry that was to be written down; empty if the run had no such entry.
  [[nodiscard]] std::string text(std::uint64_t entry) const {
    const auto found = texts_.find(entry);
    return found == texts_.end() ? std::string() : found->second;
  }

  // The number of leading requests that came out the same in both logs.
  [[nodiscard]] std::uint64_t alike(const DecisionLog& other) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::uint64_t, std::string> texts_;  // the entries to write down
};

// What served a request.
enum class ServedBy : std::uint8_t {
  nothing,        // no space
  preallocation,  // no search was needed
  goal,           // the goal itself, without a look at other groups
  search,         // a search of groups; DecisionRow::criterion ended it
};

// The cost of the searches of one request.
struct SearchCost {
  std::uint64_t groups = 0;   // considered
  std::uint64_t extents = 0;  // examined
};

// No goal, or an unknown one. Block 0 can be a goal.
inline constexpr std::uint64_t kNoGoal = UINT64_MAX;

// One request and its outcome, for tables and timelines.
struct DecisionRow {
  std::uint64_t decision = 0;     // number in the trace, from 1
  std::uint64_t time_ns = 0;      // of the recorded request, by the recorder's clock
  std::uint64_t answered_ns = 0;  // recorded kernel only: time of its answer; 0: unknown
  std::uint64_t ino = 0;
  std::uint64_t goal_block = kNoGoal;         // requested goal: the first block of its cluster
  std::uint64_t search_goal_block = kNoGoal;  // goal of the search
  std::uint64_t block = 0;                    // allocated block; 0: no block
  std::uint64_t code_ns = 0;                  // time that a kernel's code took; 0: not measured
  std::uint64_t considered = 0;  // groups; 0 for the recorded kernel, which does not tell
  std::uint32_t part = 1;        // counts the requests of a replay for one recorded request, from 1
  std::uint32_t pid = 0;
  std::uint32_t logical = 0;           // first file block of the request
  std::uint32_t asked = 0;             // clusters
  std::uint32_t search_goal_len = 0;   // clusters; 0: no search
  std::uint32_t len = 0;               // clusters allocated
  std::uint32_t taken = 0;             // clusters that the search took, preallocated ones included
  std::uint32_t groups_scanned = 0;    // as the closing event has them; recorded kernel only
  std::uint32_t extents_examined = 0;  // modulo 65536
  std::uint16_t cpu = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // ServedBy::search only
  ServedBy served = ServedBy::nothing;
  bool data = false;  // for a file's data, not for metadata
};

// The decider's outcome of the request of an operation.
[[nodiscard]] DecisionRow made_row(const Op& op, const allocator::Decision& made,
                                   const SearchCost& cost, const Geometry& geometry);
// The recorded kernel's outcome. The operation is closed, and Intake has let it through.
[[nodiscard]] DecisionRow recorded_row(const Op& op, const Geometry& geometry);

// The rows of one run, in the order of its requests.
class DecisionRows {
 public:
  // Adds and numbers a row. Decisions come in ascending order.
  void add(std::uint64_t decision, DecisionRow row);
  [[nodiscard]] const std::vector<DecisionRow>& all() const { return rows_; }

 private:
  std::vector<DecisionRow> rows_;
};

// How many stream goals a kernel of 6.17 or later had: the number of possible CPUs, or a quarter of
// the groups if that is less.
struct StreamGoalCount {
  std::uint32_t goals = 0;      // the fewest that explain most searches; 0: nothing to explain
  std::uint64_t explained = 0;  // searches whose goal is where that goal's last search ended
  std::uint64_t searches = 0;   // searches for streams
};

// Works it out from the searches of a trace, which show which inodes share a goal. Tries at most
// 256 goals.
[[nodiscard]] Result<StreamGoalCount> count_stream_goals(trace::EventSource& events,
                                                         std::uint32_t groups);

// What a trace has shown of the files that exist.
class FileFacts {
 public:
  struct File {
    std::uint64_t size = 0;                           // bytes; the best lower bound of i_size
    allocator::Mode mode = allocator::Mode::unknown;  // how its last request was served
    bool regular = false;  // the trace has shown its creation, or a request for its data
  };

  // Notes that a regular file was created.
  void made(std::uint64_t ino) { files_[ino].regular = true; }
  // Notes a request for data, with its inputs.
  void asked(const allocator::Request& request, const allocator::Inputs& inputs,
             const Geometry& geometry);
  void gone(std::uint64_t ino) { files_.erase(ino); }

  // What is known of a file; nothing of a file that the trace has not shown.
  [[nodiscard]] File of(std::uint64_t ino) const;

 private:
  RecentMap<boost::unordered_flat_map<std::uint64_t, File>> files_;
};

}  // namespace e4r::replay

namespace e4r::allocator {
struct Decision;
struct Request;
}  // namespace e4r::allocator
namespace e4r::state {
class FsState;
}

namespace e4r::replay {

// Called after a decision, with its number and the state at that moment.
using Watch = std::function<void(std::uint64_t decision, const state::FsState& state)>;

// One request to the allocator and its outcome.
struct Decided {
  std::uint64_t decision;  // its number in the trace, from 1; further requests repeat it
  std::uint64_t event;     // its number in the trace, counted from 1
  const allocator::Request& request;
  const allocator::Decision& made;
};
// Called after each request. Returning false ends the run with the Error "stopped".
using DecisionWatch = std::function<bool(const Decided& decided)>;

// What a run keeps and tells of single decisions, besides its figures. An account that nobody asks
// for costs nothing.
struct Accounts {
  std::vector<std::uint64_t> explain = {};     // decisions to explain, from 1, ascending
  bool log = false;                            // the outcome of each request (Engine::log)
  std::vector<std::uint64_t> write_down = {};  // entries of the log to keep as text, from 0
  bool rows = false;                           // a table row of each request (Engine::rows)
  bool locks = false;     // the lock operations of each request (Engine::locks); not when following
  Watch watch = nullptr;  // called every `watch_every` decisions; may be empty
  std::uint64_t watch_every = 1;    // at least 1
  DecisionWatch decided = nullptr;  // may be empty
};

}  // namespace e4r::replay
