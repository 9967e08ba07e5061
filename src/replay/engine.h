// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/allocator.h"
#include "replay/agreement.h"
#include "replay/explain.h"
#include "replay/intake.h"
#include "replay/op_stream.h"
#include "replay/translation.h"

namespace e4r::replay {

// What a replay is to answer.
enum class Purpose : std::uint8_t {
  agree,     // follow the recorded kernel: on a mismatch its result is put in place (resync)
  free_run,  // decide alone from start to end and compare with the recorded kernel
  what_if,   // decide alone under another policy or other tunables; nothing to compare with
};

// What one pass over the trace has worked out (agree writes it, the other purposes read it).
struct InputTable {
  std::vector<allocator::Inputs> known;      // per allocation, in trace order
  std::vector<std::uint64_t> refused_frees;  // events that free what is not in use, ascending
  void clear() { *this = {}; }
};

struct EngineOptions {
  Purpose purpose = Purpose::what_if;
  // Verify every result (inside its group, clear of metadata) and, every `check_every` operations,
  // every invariant of the state.
  bool check = false;
  std::uint64_t check_every = 4096;
  std::uint64_t explain = 0;  // write down this decision, counted from 1; 0: none
  std::function<void(std::uint64_t events)> progress;  // called now and then; may be empty
};

// What happened, beyond the allocator's own counters.
struct Tally {
  std::uint64_t requests = 0;  // allocations decided
  std::uint64_t metadata = 0;  // of these: without HINT_DATA
  // Of these: for mapping blocks (extent tree nodes, indirect blocks) of regular files. How many a
  // file needs follows from its layout, so these requests belong to the recorded layout: a replay
  // that places the data otherwise still makes as many as were recorded.
  std::uint64_t mapping = 0;
  std::uint64_t allocated_blocks = 0;
  std::uint64_t failed = 0;    // no space
  std::uint64_t refused = 0;   // turned away by the kernel before its allocator
  std::uint64_t absorbed = 0;  // recorded requests that had been served before
  std::uint64_t extra = 0;     // requests the recorded kernel did not need
  std::uint64_t freed_clusters = 0;
  std::uint64_t bad_frees = 0;  // frees of what is not in use
  std::uint64_t commits = 0;
  std::uint64_t unanswered = 0;  // allocations cut off by the end of the trace
  std::uint64_t lost_events = 0;
  std::uint64_t bad_requests = 0;  // Contradictions::outside
};

// Replays a trace on one state under one policy. Not thread-safe; engines that share a Source may
// run in different threads.
class Engine {
 public:
  Engine(const state::Source& source, const allocator::Policy& policy,
         const allocator::Tunables& tunables, EngineOptions options);

  // Runs the whole trace. `inputs` is written by `agree` and read by the others (may be empty).
  // The Error is the event source's, or the first broken invariant.
  Status run(trace::EventSource& events, InputTable& inputs);

  // The decision that EngineOptions::explain asked for; empty when there is none of that number.
  [[nodiscard]] const std::string& explanation() const { return explanation_.text(); }
  // Decisions that the trace closed.
  [[nodiscard]] std::uint64_t decisions() const { return closed_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  // Those that need a look at the state (in use, not in use) are what `agree` finds.
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const allocator::Counters& counters() const { return allocator_.counters(); }
  [[nodiscard]] const allocator::Policy& policy() const { return allocator_.policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const { return allocator_.tunables(); }
  [[nodiscard]] const state::FsState& state() const { return state_; }
  // Blocks of every file that the trace allocated, as the replay has placed them.
  [[nodiscard]] const std::unordered_map<std::uint64_t, FileLayout>& files() const {
    return translation_.files();
  }

 private:
  // What is known of a file while it lives.
  struct FileFacts {
    std::uint64_t size = 0;  // bytes; the best lower bound of i_size
    allocator::Mode mode = allocator::Mode::unknown;
    bool regular = false;  // it asked for data blocks, or was seen to be made
  };

  void apply(const Op& op, InputTable& inputs);
  void on_allocate_inode(const Op& op);
  void on_allocate(const Op& op, InputTable& inputs);
  [[nodiscard]] allocator::Request request_of(const Op& op, const allocator::Inputs& known) const;
  allocator::Decision allocate(const Op& op, const allocator::Request& request,
                               allocator::Steering& steering);
  void follow(const Op& op, allocator::Request& request, allocator::Inputs& out);
  void decide(const Op& op, allocator::Request& request);
  void place_data(const Op& op, allocator::Request& request);
  void place_metadata(const Op& op, allocator::Request& request);
  void give_back(const BlockRange& range);
  void note_extra(const Op& op, const allocator::Decision& decision);
  void translate_neighbours(const Op& op, allocator::Request& request);
  void note_decision(const Op& op, const allocator::Decision& decision, bool forced = false);
  void note_metadata(const Op& op);
  void learn(const Op& op, const allocator::Request& request, const allocator::Inputs& inputs);
  void record(const Op& op, std::uint64_t here, std::uint64_t blocks);
  void on_commit(const Op& op);
  void on_free(const Op& op, InputTable& inputs);
  bool refused_before(const Op& op, const InputTable& inputs);
  [[nodiscard]] bool is_metadata(std::uint64_t first, std::uint64_t end) const;
  bool free_range(const BlockRange& range);
  void on_free_inode(const Op& op);
  void check_result(const Op& op, const allocator::Decision& decision);
  Status check_state(const Op& op) const;

  EngineOptions options_;
  const state::Source& source_;
  std::string bad_result_;  // the first result that breaks a rule
  state::FsState state_;
  allocator::Allocator allocator_;
  Translation translation_;
  std::unordered_map<std::uint64_t, FileFacts> facts_;
  std::vector<BlockRange> scratch_;
  Tally tally_;
  Contradictions contradictions_;
  Agreement agreement_;
  Explanation explanation_;
  std::uint64_t closed_ = 0;       // decisions that the trace closed, so far
  std::uint64_t allocation_ = 0;   // index into the input table
  std::uint64_t transaction_ = 0;  // running
  bool committing_ = false;        // the one before it has not ended
  std::size_t refused_ = 0;        // of InputTable::refused_frees, how many have passed
};

}  // namespace e4r::replay
