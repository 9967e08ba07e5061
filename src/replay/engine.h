// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocator/decider.h"
#include "allocator/decision_hash.h"
#include "allocator/decision_times.h"
#include "replay/agreement.h"
#include "replay/closing_counts.h"
#include "replay/cost_profile.h"
#include "replay/decision_log.h"
#include "replay/decision_rows.h"
#include "replay/explain.h"
#include "replay/file_facts.h"
#include "replay/op_reader.h"
#include "replay/tally.h"
#include "replay/translation.h"
#include "replay/trims.h"
#include "replay/watch.h"
#include "replay/write_order.h"

namespace e4r::replay {

struct EngineOptions {
  // Verify every result (inside its group, clear of metadata) and, every `check_every` operations,
  // every invariant of the state.
  bool check = false;
  std::uint64_t check_every = 4096;
  // The trace has ext4_discard_blocks, which says when a worker was at work. Else it is at work as
  // each commit ends.
  bool discards_recorded = false;
  // Of the trace (recorded_trims); must outlive the engine.
  std::span<const RecordedTrim> trims;
  bool warm = false;  // the file system had been mounted for a while before the trace
  std::vector<std::uint64_t> explain;     // decisions to write down, counted from 1, ascending
  bool log = false;                       // keep what each request came to (Engine::log)
  bool rows = false;                      // keep all that is told of it (Engine::rows)
  bool locks = false;                     // keep what it did to locks (Engine::locks)
  unsigned writers = 1;                   // whose requests come in any order (Translation)
  std::vector<std::uint64_t> write_down;  // those entries of the log in words, counted from 0
  // Called now and then; false: the run ends with the Error "stopped". May be empty.
  std::function<bool(std::uint64_t events)> progress;
  Watch watch;                    // called every `watch_every` decisions; may be empty
  std::uint64_t watch_every = 1;  // at least 1
  DecisionWatch decided;          // may be empty
};

// Takes one decider through a trace. What becomes of a request and of a free is the
// driver's: Follow, FreeRun or WhatIf. Not thread-safe; engines that share a Source may run in
// different threads.
class Engine {
 public:
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Runs the whole trace, once. The Error is the event source's, the decider's, or the first broken
  // invariant.
  Status run(trace::EventSource& events);

  // What run() does of it: one operation, and the end after the last one of `ops`.
  Status advance(const Op& op);
  Status end(const OpReader& ops);

  // For who has operations of a trace and takes them in an order of its own, instead of run(): does
  // one that Intake has let through, and ends after the last one. The Error is the decider's.
  Status step(const Op& op);
  Status finish();
  // A look at mb_groups, which loads every group (ext4_mb_seq_groups_show, Linux 6.1): what the
  // kernel's text shows of groups that nobody had loaded is their buddies.
  void load_all_groups();
  // From now on that CPU's locality group serves requests; without one, the recorded CPU's. `held`:
  // what other CPUs hold meanwhile, or null; must outlive the request.
  void serve_on(std::optional<std::uint16_t> cpu, const allocator::HeldLocks* held = nullptr) {
    cpu_ = cpu;
    held_ = held;
  }

  // A decision that EngineOptions::explain asked for; empty when there is none of that number.
  [[nodiscard]] std::string explanation(std::uint64_t decision) const;
  // Decisions that the trace closed.
  [[nodiscard]] std::uint64_t decisions() const { return closings_.requests; }
  // What the recorded kernel decided there, whatever the engine did.
  [[nodiscard]] const ClosingCounts& closings() const { return closings_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  // Those that need a look at the state (in use, not in use) are what Follow finds.
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  // With the recorded kernel; empty in a WhatIf, which has nothing to compare with.
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const allocator::Counters& counters() const { return decider_->counters(); }
  [[nodiscard]] const allocator::Policy& policy() const { return decider_->policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const { return decider_->tunables(); }
  [[nodiscard]] const state::FsState& state() const { return decider_->state(); }
  // What a kernel that decided says of itself; null when it was the model.
  [[nodiscard]] const allocator::KernelAccount* account() const { return decider_->account(); }
  // What searches cost in the course of the trace.
  [[nodiscard]] const CostProfile& costs() const { return costs_; }
  // What a kernel's code took for them; empty of a model.
  [[nodiscard]] const allocator::DecisionTimes& times() const { return times_; }
  // Of all decisions, those that the recorded kernel did not need included.
  [[nodiscard]] const allocator::DecisionHash& hash() const { return hash_; }
  // Blocks of every file that the trace allocated, as the replay has placed them.
  [[nodiscard]] const FileLayouts& files() const { return translation_.files(); }
  // What each request came to; empty unless EngineOptions::log.
  [[nodiscard]] const DecisionLog& log() const { return log_; }
  // The same for tables; empty unless EngineOptions::rows.
  [[nodiscard]] const DecisionRows& rows() const { return rows_; }
  [[nodiscard]] DecisionRows take_rows() { return std::move(rows_); }
  // The locks of each request, in the order of rows(); empty unless EngineOptions::locks.
  [[nodiscard]] const allocator::LockNotes& locks() const { return locks_; }
  // Forgets those of the requests so far.
  void forget_locks() { locks_.forget(); }
  // Those of the trace's ext4_discard_blocks.
  [[nodiscard]] const allocator::DiscardCounts& recorded_discards() const {
    return recorded_discards_;
  }
  // What the decider has sent; null when it sends none.
  [[nodiscard]] const allocator::Discards* discards() const { return decider_->discards(); }
  // In which order they were handed out.
  [[nodiscard]] const WriteOrder& write_order() const { return write_order_; }

 protected:
  // `source`: what the decider began with; must outlive the engine.
  Engine(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         EngineOptions options);

  // ---- The driver's part.

  // Requests that are decided where they were answered (InputTable::late).
  [[nodiscard]] virtual std::span<const std::uint64_t> late() const = 0;
  // Decides an allocation that the trace closed.
  virtual void decide(const Op& op) = 0;
  // The recorded kernel freed the range.
  virtual void free(const Op& op, const BlockRange& range) = 0;
  // A file is gone of which the replay held the ranges still: the recorded kernel never freed them.
  virtual void let_go(const std::vector<BlockRange>& ranges, bool file_data) = 0;
  // How many discards a worker sends when the recorded one sent one.
  [[nodiscard]] virtual std::uint64_t discards_for_one() const { return 1; }
  // Whether the FITRIM sends from groups that are trimmed, too. `from_this`: it has sent something
  // from one that is.
  virtual bool trims_again(std::uint32_t call, bool from_this) = 0;
  // What is kept of a request (EngineOptions::rows).
  [[nodiscard]] virtual DecisionRow row_of(const Op& op, const allocator::Decision& made,
                                           const SearchCost& cost) const {
    return made_row(op, made, cost, geometry());
  }

  // ---- What it does that with.

  [[nodiscard]] allocator::Request request_of(const Op& op, const allocator::Inputs& known) const;
  // One request to the allocator, which is counted by note_decision.
  allocator::Decision allocate(const Op& op, const allocator::Request& request,
                               allocator::Guide* guide = nullptr);
  // Counts a decision of the model's own; `forced`: another one was put in its place.
  void note_decision(const Op& op, const allocator::Decision& decision, bool forced = false);
  // Counts one that the recorded kernel did not need.
  void note_extra(const Op& op, const allocator::Decision& decision);
  // Adds to the file what was handed out for its data; returns where in the file that ends.
  std::uint64_t map_data(const Op& op, FileLayout& file, const allocator::Decision& decision);
  // Adds to the file what the recorded kernel handed out for its data.
  void map_recorded(const Op& op, FileLayout& file);
  // Keeps which file blocks the recorded answer stands for.
  void record_data(const Op& op);
  // The file system had a past before the trace.
  [[nodiscard]] bool is_warm() const { return options_.warm; }
  // Frees a range of blocks, group by group; false when part of it was none to free.
  bool free_range(const BlockRange& range, bool file_data);
  // Returns blocks of one group that were allocated a moment ago.
  void give_back(const BlockRange& range);

  [[nodiscard]] const Geometry& geometry() const { return source_.geometry; }
  [[nodiscard]] allocator::Decider& decider() { return *decider_; }

  Translation translation_;
  FileFacts facts_;
  Tally tally_;
  Contradictions contradictions_;
  Agreement agreement_;

 private:
  [[nodiscard]] FileExtent recorded_extent(const Op& op) const;
  void apply(const Op& op);
  void on_allocate(const Op& op);
  void on_free(const Op& op);
  void on_allocate_inode(const Op& op);
  void on_free_inode(const Op& op);
  void on_commit(const Op& op);
  void on_discard(const Op& op);
  void on_trim(const Op& op);
  void on_discard_of_trim(const Op& op);
  void count(const Op& op, const allocator::Decision& decision);
  [[nodiscard]] SearchCost take_cost();
  Explanation* to_explain();
  [[nodiscard]] bool is_metadata(const BlockRange& blocks) const;
  void check_result(const Op& op, const allocator::Decision& decision);
  [[nodiscard]] Status check_state(const Op& op) const;

  EngineOptions options_;
  const state::Source& source_;
  std::unique_ptr<allocator::Decider> decider_;
  std::string bad_result_;  // the first result that breaks a rule
  std::vector<BlockRange> scratch_;
  std::map<std::uint64_t, Explanation> explanations_;  // by decision
  std::size_t next_to_explain_ = 0;                    // of EngineOptions::explain
  WriteOrder write_order_;
  allocator::DiscardCounts recorded_discards_;
  Op last_free_;  // of a mount that discards
  // FITRIM at a group, by Op::request: what it has to send still, and how many runs the recorded
  // one has.
  struct Trimming {
    allocator::Trim trim;
    std::uint64_t recorded = 0;
  };
  std::unordered_map<std::uint64_t, Trimming> trimming_;
  CostProfile costs_;
  allocator::DecisionTimes times_;
  allocator::DecisionHash hash_;
  DecisionLog log_;
  DecisionRows rows_;
  allocator::LockNotes locks_;
  std::uint64_t considered_ = 0;       // groups, so far
  std::uint64_t examined_ = 0;         // extents, so far
  Explanation* explaining_ = nullptr;  // of the request under way
  ClosingCounts closings_;             // so far
  std::uint64_t steps_ = 0;            // of advance()
  bool stopped_ = false;               // by EngineOptions::decided
  std::optional<std::uint16_t> cpu_;   // of serve_on()
  const allocator::HeldLocks* held_ = nullptr;
};

// Whether the operation is for a file's data.
[[nodiscard]] inline bool is_data(const Op& op) {
  return (op.flags & mb::hint_data) != 0;
}

}  // namespace e4r::replay
