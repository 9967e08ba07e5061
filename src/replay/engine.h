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

// Facts about the whole trace that are needed before its first operation.
struct TraceFacts {
  bool warm = false;  // the file system had been mounted for a while before the trace
  // The file system's state in memory before the trace, or null if unknown. Must outlive the
  // engine.
  const Checkpoint* from = nullptr;
  // Whether the trace has ext4_discard_blocks events, which show when the worker discards. Without
  // them, the worker discards when each commit ends.
  bool discards_recorded = false;
  // The FITRIM calls of the trace (recorded_trims), if they are known. Must outlive the engine.
  std::span<const RecordedTrim> trims = {};
  // InputTable::early_reads. Only the constructor uses it.
  std::span<const allocator::ReadBatch> early_reads = {};
};

// Runs one decider over a trace. The driver (Follow, FreeRun or WhatIf) decides how each request
// and each free is handled. Not thread-safe, but engines that share a Source may run in different
// threads.
class Engine {
 public:
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Runs the whole trace, once. The Error comes from the event source or the decider, or names the
  // first broken invariant.
  Status run(trace::EventSource& events);

  // The steps of run(): advance() handles one operation; end() ends the run after the last
  // operation of `ops`.
  virtual Status advance(const Op& op);
  virtual Status end(const OpReader& ops);

  // Callers that order the operations themselves use these functions instead of run(). step()
  // handles one operation that Intake has admitted; finish() ends the run after the last one. The
  // Error is the decider's.
  Status step(const Op& op);
  Status finish();
  // Calls `progress` at intervals during a run. If it returns false, the run ends with the Error
  // "stopped".
  void report_to(std::function<bool(std::uint64_t events)> progress) {
    progress_ = std::move(progress);
  }
  // Loads every group, as a read of mb_groups does (ext4_mb_seq_groups_show, Linux 6.1).
  void load_all_groups();
  // Serves further requests from the locality group of `cpu`, or of the recorded CPU if `cpu` is
  // empty. `held` lists the locks that other CPUs hold during the requests. It may be null, and
  // must outlive the requests.
  void serve_on(std::optional<std::uint16_t> cpu, const allocator::HeldLocks* held = nullptr) {
    cpu_ = cpu;
    held_ = held;
  }

  // The account of that class, or null if none was added.
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
  // Counts of the recorded kernel's decisions. They do not depend on the engine's decisions.
  [[nodiscard]] const ClosingCounts& closings() const { return closings_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  // The contradictions found so far. Only Follow finds the contradictions that depend on the state
  // (in use, not in use).
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  // Agreement with the recorded kernel. Empty in a WhatIf, which compares nothing.
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const allocator::Counters& counters() const { return decider_->counters(); }
  [[nodiscard]] const allocator::Policy& policy() const { return decider_->policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const { return decider_->tunables(); }
  [[nodiscard]] const state::FsState& state() const { return decider_->state(); }
  // The contents of the kernel's files if a kernel made the decisions; null if the model did.
  [[nodiscard]] const allocator::KernelAccount* kernel_account() const {
    return decider_->account();
  }
  // The hash of all decisions, including those that the recorded kernel did not need.
  [[nodiscard]] const allocator::DecisionHash& hash() const { return hash_; }
  // Groups with ranges that were being discarded when the trace ended, as mb_groups shows them
  // during the discard. In state(), these ranges are free again.
  [[nodiscard]] const std::vector<state::MbGroup>& groups_while_discarding() const {
    return groups_while_discarding_;
  }
  // The facts about files at this point of the run.
  [[nodiscard]] const FileFacts& file_facts() const { return facts_; }
  // The files for which the trace allocated blocks, as the replay has placed them.
  [[nodiscard]] const FileLayouts& files() const { return translation_.files(); }
  // Counts the ext4_discard_blocks events of the trace.
  [[nodiscard]] const allocator::DiscardCounts& recorded_discards() const {
    return recorded_discards_;
  }
  // The discards that the decider has sent; null if it sends none.
  [[nodiscard]] const allocator::Discards* discards() const { return decider_->discards(); }

 protected:
  // `source` is the state from which the decider began. It must outlive the engine.
  Engine(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         const Setup& setup, const TraceFacts& trace);

  // ---- Implemented by the driver.

  // The order of overlapping operations (InputTable::schedule).
  [[nodiscard]] virtual const Schedule& schedule() const = 0;
  // Decides an allocation that the trace closed.
  virtual void decide(const Op& op) = 0;
  // Called when the recorded kernel freed the range.
  virtual void free(const Op& op, const BlockRange& range) = 0;
  // Called when a file was deleted that still owned these ranges in the replay. The recorded kernel
  // did not free them.
  virtual void let_go(const std::vector<BlockRange>& ranges, bool file_data) = 0;
  // How many discards the worker sends for each recorded discard.
  [[nodiscard]] virtual std::uint64_t discards_for_one() const { return 1; }
  // Whether the FITRIM call also discards runs of groups that are already marked as trimmed.
  // `from_this` is true if the recorded call discarded such runs in the current group.
  virtual bool trims_again(std::uint32_t call, bool from_this) = 0;

  // ---- Used by the driver.

  // What the engine itself knows and has counted at one moment, without its accounts and the
  // layouts of files.
  struct Mark {
    FileFacts facts;
    Tally tally;
    Contradictions contradictions;
    Agreement agreement;
    allocator::DecisionHash hash;
    ClosingCounts closings;
    std::uint64_t event = 0;
  };
  [[nodiscard]] Mark mark() const {
    return {facts_, tally_, contradictions_, agreement_, hash_, closings_, event_};
  }
  void return_to(const Mark& mark);
  // Reports nothing further to the accounts.
  void drop_accounts() { accounts_.stop(); }

  [[nodiscard]] allocator::Request request_of(const Op& op,
                                              const allocator::DecisionInputs& known) const;
  [[nodiscard]] Asked describe_request(const Op& op, const allocator::Request& request) const {
    return {decisions(), op, request, *decider_};
  }
  // Makes one request to the allocator. note() counts it.
  allocator::Decision allocate(const Op& op, const allocator::Request& request,
                               allocator::Guide* guide = nullptr);
  // Counts the outcome of a request, and reports it to the accounts.
  void note(const Decided& decided);
  // Adds the blocks of a decision to the file's data. Returns the file block after the last one.
  std::uint64_t map_data(const Op& op, FileLayout& file, const allocator::Decision& decision);
  // Adds the recorded kernel's blocks to the file's data.
  void map_recorded(const Op& op, FileLayout& file);
  // Records which file blocks are stored in the device blocks of the recorded answer.
  void record_data(const Op& op);
  // Whether the file system had been mounted for a while before the trace.
  [[nodiscard]] bool is_warm() const { return trace_.warm; }
  [[nodiscard]] const TraceFacts& trace() const { return trace_; }
  // Frees a range of blocks, group by group. Returns false if a part was not allocated.
  bool free_range(BlockRange range, bool file_data);
  // Frees blocks of one group that were just allocated.
  void give_back(const BlockRange& range);

  [[nodiscard]] const state::Source& source() const { return source_; }
  [[nodiscard]] const Geometry& geometry() const { return source_.geometry; }
  [[nodiscard]] allocator::Decider& decider() { return *decider_; }

  // These are members rather than accounts because every run needs them. The driver's decisions
  // depend on the first two. The others are used to compare passes and runs.
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
  void on_shift(const Op& op);
  void settle_shifts(const Op& op);
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
  Accounts accounts_;  // must outlive the decider, which may note locks
  std::unique_ptr<allocator::Decider> decider_;
  std::string bad_result_;  // describes the first result that breaks a rule
  std::vector<BlockRange> scratch_;
  allocator::DiscardCounts recorded_discards_;
  Op last_free_;  // used only on a mount with discard
  // A FITRIM call's work in one group. `trim` is the work that remains, `recorded` the number of
  // runs that the recorded call has yet to discard.
  struct Trimming {
    allocator::Trim trim;
    std::uint64_t recorded = 0;
  };
  std::vector<state::MbGroup> groups_while_discarding_;
  std::unordered_map<std::uint64_t, Trimming> trimming_;
  // In a live run with another layout: the group that FITRIM has reached, and the length of the
  // shortest run that it has discarded in that group.
  Op live_trim_;
  std::uint32_t live_minlen_ = 0;
  allocator::DecisionHash hash_;      // a member for the same reason as agreement_
  ClosingCounts closings_;            // of the operations so far
  std::uint64_t steps_ = 0;           // calls of advance()
  bool stopped_ = false;              // Account::decided returned false
  std::optional<std::uint16_t> cpu_;  // as serve_on() set it
  const allocator::HeldLocks* held_ = nullptr;
  std::uint64_t event_ = 0;  // the last event that an operation has reached
  std::vector<Op> seen_;     // hide and reveal operations for the next allocation
};

}  // namespace e4r::replay
