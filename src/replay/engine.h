// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/decider.h"
#include "allocator/decision.h"
#include "replay/accounts.h"
#include "replay/agreement.h"
#include "replay/intake.h"
#include "replay/setup.h"
#include "replay/translation.h"
#include "replay/trims.h"

namespace e4r::replay {

// What the whole trace shows, and the first operation needs already.
struct TraceFacts {
  bool warm = false;  // the file system had been mounted for a while before the trace
  // What it held in memory, if that is known; must outlive the engine.
  const Checkpoint* from = nullptr;
  // The trace has ext4_discard_blocks, which shows when a worker discards. Otherwise it discards as
  // each commit ends.
  bool discards_recorded = false;
  // The FITRIM calls of the trace (recorded_trims), if they are known. Must outlive the engine.
  std::span<const RecordedTrim> trims = {};
  // See InputTable. Used at construction only.
  std::span<const allocator::ReadBatch> early_reads = {};
};

// Takes one decider through a trace. The driver (Follow, FreeRun or WhatIf) decides what becomes of
// each request and each free. Not thread-safe. Engines that share a Source may run in different
// threads.
class Engine {
 public:
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Runs the whole trace, once. The Error comes from the event source or the decider, or names the
  // first broken invariant.
  Status run(trace::EventSource& events);

  // The parts of run(): takes one operation; ends after the last operation of `ops`.
  virtual Status advance(const Op& op);
  virtual Status end(const OpReader& ops);

  // Alternatives to run() for callers that order the operations themselves. step() takes one
  // operation that Intake has let through; finish() ends after the last one. The Error is the
  // decider's.
  Status step(const Op& op);
  Status finish();
  // Calls `progress` now and then during a run. Returning false ends the run with the Error
  // "stopped".
  void report_to(std::function<bool(std::uint64_t events)> progress) {
    progress_ = std::move(progress);
  }
  // Acts as a read of mb_groups, which loads every group (ext4_mb_seq_groups_show, Linux 6.1) and
  // shows the buddies of groups that were not loaded before.
  void load_all_groups();
  // From now on the locality group of `cpu` serves requests; without one, the recorded CPU's.
  // `held`: locks that other CPUs hold meanwhile, or null; must outlive the request.
  void serve_on(std::optional<std::uint16_t> cpu, const allocator::HeldLocks* held = nullptr) {
    cpu_ = cpu;
    held_ = held;
  }

  // The account of that class; null if nobody asked for one.
  template <class T>
  [[nodiscard]] const T* find() const {
    return accounts_.find<T>();
  }
  template <class T>
  [[nodiscard]] T* find() {
    return accounts_.find<T>();
  }
  // The number of decisions that the trace closed.
  [[nodiscard]] std::uint64_t decisions() const { return closings_.requests; }
  // The recorded kernel's decisions, whatever the engine did.
  [[nodiscard]] const ClosingCounts& closings() const { return closings_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  // Only Follow finds contradictions that need a look at the state (in use, not in use).
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  // Agreement with the recorded kernel. Empty in a WhatIf, which compares nothing.
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const allocator::Counters& counters() const { return decider_->counters(); }
  [[nodiscard]] const allocator::Policy& policy() const { return decider_->policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const { return decider_->tunables(); }
  [[nodiscard]] const state::FsState& state() const { return decider_->state(); }
  // A deciding kernel's own account; null if the model decided.
  [[nodiscard]] const allocator::KernelAccount* kernel_account() const {
    return decider_->account();
  }
  // Covers all decisions, also those that the recorded kernel did not need.
  [[nodiscard]] const allocator::DecisionHash& hash() const { return hash_; }
  // Groups with ranges that the device was still told of when the trace ended, as mb_groups shows
  // them meanwhile. state() has these ranges free again.
  [[nodiscard]] const std::vector<state::MbGroup>& groups_while_discarding() const {
    return groups_while_discarding_;
  }
  // What is known of files at this moment of the run.
  [[nodiscard]] const FileFacts& file_facts() const { return facts_; }
  // The files that the trace allocated blocks for, as the replay has placed them.
  [[nodiscard]] const FileLayouts& files() const { return translation_.files(); }
  // Counts the ext4_discard_blocks events of the trace.
  [[nodiscard]] const allocator::DiscardCounts& recorded_discards() const {
    return recorded_discards_;
  }
  // The discards that the decider has sent; null if it sends no discards.
  [[nodiscard]] const allocator::Discards* discards() const { return decider_->discards(); }

 protected:
  // `source`: the state from which the decider began; must outlive the engine.
  Engine(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         const Setup& setup, const TraceFacts& trace);

  // ---- Implemented by the driver.

  // The order of overlapping operations (InputTable::schedule).
  [[nodiscard]] virtual const Schedule& schedule() const = 0;
  // Decides an allocation that the trace closed.
  virtual void decide(const Op& op) = 0;
  // The recorded kernel freed the range.
  virtual void free(const Op& op, const BlockRange& range) = 0;
  // A file is gone. The replay still held these ranges, which the recorded kernel never freed.
  virtual void let_go(const std::vector<BlockRange>& ranges, bool file_data) = 0;
  // How many discards a worker sends for each recorded one.
  [[nodiscard]] virtual std::uint64_t discards_for_one() const { return 1; }
  // Whether the FITRIM call sends runs of groups that are marked as trimmed, too. `from_this`: it
  // has sent something from such a group.
  virtual bool trims_again(std::uint32_t call, bool from_this) = 0;

  // ---- Used by the driver.

  [[nodiscard]] allocator::Request request_of(const Op& op,
                                              const allocator::DecisionInputs& known) const;
  [[nodiscard]] Asked asking(const Op& op, const allocator::Request& request) const {
    return {decisions(), op, request, *decider_};
  }
  // Makes one request to the allocator. note() counts it.
  allocator::Decision allocate(const Op& op, const allocator::Request& request,
                               allocator::Guide* guide = nullptr);
  // Counts the outcome of a request, and tells the accounts.
  void note(const Decided& decided);
  // Adds the blocks of a decision to the file's data. Returns the file block after the last one.
  std::uint64_t map_data(const Op& op, FileLayout& file, const allocator::Decision& decision);
  // Adds the recorded kernel's blocks to the file's data.
  void map_recorded(const Op& op, FileLayout& file);
  // Notes which file blocks the recorded answer holds.
  void record_data(const Op& op);
  // The file system had been mounted for a while before the trace.
  [[nodiscard]] bool is_warm() const { return trace_.warm; }
  [[nodiscard]] const TraceFacts& trace() const { return trace_; }
  // Frees a range of blocks, group by group. Returns false if a part was not allocated.
  bool free_range(BlockRange range, bool file_data);
  // Returns blocks of one group that were just allocated.
  void give_back(const BlockRange& range);

  [[nodiscard]] const Geometry& geometry() const { return source_.geometry; }
  [[nodiscard]] allocator::Decider& decider() { return *decider_; }

  // Members and no accounts, because every run needs them: its driver decides by the first two, and
  // passes and runs are compared by the others.
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
  void trim_alike(const Op& op);
  void end_discard(std::uint64_t by);
  void count(const Op& op, const allocator::Decision& decision);
  void check_result(const Op& op, const allocator::Decision& decision);
  [[nodiscard]] Status check_state(const Op& op) const;

  const std::uint64_t check_every_;  // as in Setup
  const TraceFacts trace_;
  std::function<bool(std::uint64_t events)> progress_;
  const state::Source& source_;
  Accounts accounts_;  // outlive the decider, which may note locks
  std::unique_ptr<allocator::Decider> decider_;
  std::string bad_result_;  // the first result that breaks a rule
  std::vector<BlockRange> scratch_;
  allocator::DiscardCounts recorded_discards_;
  Op last_free_;  // of a mount with discard
  // A FITRIM call at one group, by Op::request: what it still has to send, and how many runs the
  // recorded call sent.
  struct Trimming {
    allocator::Trim trim;
    std::uint64_t recorded = 0;
  };
  std::vector<state::MbGroup> groups_while_discarding_;
  std::unordered_map<std::uint64_t, Trimming> trimming_;
  // In a live run of another layout: where FITRIM is, and the shortest run that it has sent there.
  Op live_trim_;
  std::uint32_t live_minlen_ = 0;
  allocator::DecisionHash hash_;      // as agreement_: every answer compares runs by it
  ClosingCounts closings_;            // so far
  std::uint64_t steps_ = 0;           // calls of advance()
  bool stopped_ = false;              // Account::decided returned false
  std::optional<std::uint16_t> cpu_;  // as serve_on() set it
  const allocator::HeldLocks* held_ = nullptr;
};

}  // namespace e4r::replay
