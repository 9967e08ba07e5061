// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "allocator/request.h"
#include "replay/dictation.h"
#include "replay/engine.h"
#include "replay/schedule.h"
#include "replay/warm_start.h"

namespace e4r::replay {

// Inputs of decisions that the trace does not contain. Follow derives them for runs that make their
// own decisions.
struct InputTable {
  // The index is the request number (Op::request) minus 1 minus `forgotten`.
  std::deque<allocator::DecisionInputs> known;
  std::uint64_t forgotten = 0;               // number of requests before the first of `known`
  std::vector<std::uint64_t> refused_frees;  // events that free blocks not in use, ascending
  Schedule schedule;                         // of overlapping operations
  // The FITRIM calls (RecordedTrim::call) whose minlen was below the minlen of the previous call,
  // ascending.
  std::vector<std::uint32_t> trims_again;
  // Groups whose bitmaps were already in memory when the first search read ahead: something else
  // had read them, or the device completes reads at once. Read-ahead then loads none of them
  // (ext4_mb_prefetch, up to Linux 6.4). No event shows this.
  std::vector<allocator::ReadBatch> early_reads;
  // An allocation during which another thread was in the allocator, with its event numbers.
  struct Overlapping {
    std::uint64_t request = 0;
    std::uint64_t asked_at = 0, closed_at = 0;
  };
  std::vector<Overlapping> overlapping;

  // Returns null if the request's inputs are unknown.
  [[nodiscard]] const allocator::DecisionInputs* find(std::uint64_t request) const {
    const std::uint64_t at = request - 1 - forgotten;
    return request > forgotten && at < known.size() ? &known[at] : nullptr;
  }
  // Sets the inputs of a request, unless they were forgotten. Most requests are decided in the
  // order of their numbers, so this usually appends.
  void note(std::uint64_t request, const allocator::DecisionInputs& inputs);
};

// Follows the recorded kernel. Compares each decision with the recorded one, and replaces it with
// the recorded one if they differ (resync).
class Follow : public Engine {
 public:
  // `schedule` comes from an OrderSearch over the same trace.
  Follow(const state::Source& source, std::unique_ptr<allocator::Model> model, const Setup& setup,
         const TraceFacts& trace, Schedule schedule = {})
      : Engine(source, std::move(model), setup, trace),
        model_(static_cast<allocator::Model&>(decider())) {
    inputs_.schedule = std::move(schedule);
  }

  // The inputs found so far. A request's inputs are known as soon as it has been decided.
  [[nodiscard]] const InputTable& inputs() const { return inputs_; }
  // Whether a second run would find the same inputs, since no later event changed one. (The end of
  // a FITRIM call can show an input that its beginning needs.)
  [[nodiscard]] virtual bool is_settled() const {
    return learnt_.empty() && inputs_.trims_again.empty();
  }
  // Moves the inputs out of the run after its end.
  [[nodiscard]] virtual InputTable take_inputs() { return std::exchange(inputs_, {}); }
  // Drops the inputs of old requests but keeps the inputs of at least the last kInputsKept
  // requests. Call it at intervals in a run without an end.
  void forget_inputs();
  static constexpr std::size_t kInputsKept = 65536;
  // The order of groups on the lists of a warm file system (one that was mounted before the trace),
  // as far as decisions have shown it. The model's lists have already been corrected.
  [[nodiscard]] const std::vector<WarmStart::Precedence>& learnt() const { return learnt_; }

  [[nodiscard]] allocator::Model& model() { return model_; }
  // The request events and closing events of recent requests.
  [[nodiscard]] const Spans& spans() const { return spans_; }

 protected:
  // Keeps no layouts of files from now on, and reports nothing further to the accounts. For a run
  // that only searches.
  void drop_layouts() {
    keeps_layouts_ = false;
    drop_accounts();
  }
  // Whether the allocation, if decided now, would have the recorded outcome. nullopt if a rung of
  // the policy would itself load groups, which a trial does not do. `thorough` is as in
  // Allocator::would_decide_as_dictated(). Changes nothing.
  [[nodiscard]] std::optional<bool> would_agree(const Op& op, bool thorough = false);

 private:
  [[nodiscard]] const Schedule& schedule() const override { return inputs_.schedule; }
  void decide(const Op& op) override;
  void free(const Op& op, const BlockRange& range) override;
  void let_go(const std::vector<BlockRange>&, bool) override {}
  bool trims_again(std::uint32_t call, bool from_this) override;

  void learn_order(const Op& op, const allocator::Decision& own, state::OrderLists lists);
  [[nodiscard]] allocator::DecisionInputs shown_inputs(const Op& op, bool on_closing_cpu) const;
  [[nodiscard]] std::optional<bool> would_agree_on(const Op& op, bool on_closing_cpu,
                                                   bool thorough = false);

  allocator::Model& model_;  // the engine's decider; it is a model because a kernel's decisions
                             // cannot be replaced
  std::vector<WarmStart::Precedence> learnt_;
  Spans spans_;
  InputTable inputs_;
  bool keeps_layouts_ = true;
  std::vector<BlockRange> freed_;  // scratch
};

// Makes its own decisions from start to end. These decisions show which blocks the same files would
// have got. Requests and frees are translated from the recorded layout to the replay's.
class WhatIf : public Engine {
 public:
  // `inputs` comes from a Follow of the same trace and must outlive the run.
  WhatIf(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         const Setup& setup, const TraceFacts& trace, const InputTable& inputs)
      : Engine(source, std::move(decider), setup, trace), inputs_(inputs) {}

 protected:
  // decided() is called with the decision for a request. not_needed() is called instead if an
  // earlier request has already served it.
  virtual void decided(const Op&, const allocator::Decision&) {}
  virtual void not_needed(const Op&) {}
  // The replay's extents differ from the recorded ones, so the worker discards everything that
  // commits have returned.
  [[nodiscard]] std::uint64_t discards_for_one() const override {
    return allocator::Discards::kAll;
  }

 private:
  [[nodiscard]] const Schedule& schedule() const override { return inputs_.schedule; }
  void decide(const Op& op) override;
  void free(const Op& op, const BlockRange& range) override;
  void let_go(const std::vector<BlockRange>& ranges, bool file_data) override;
  bool trims_again(std::uint32_t call, bool) override {
    return std::ranges::binary_search(inputs_.trims_again, call);
  }

  void note(const Op& op, const allocator::Request& request, const allocator::Decision& decision,
            bool& first);
  void place_data(const Op& op, allocator::Request& request);
  void place_metadata(const Op& op, allocator::Request& request);
  void continue_file(const FileLayout& file, std::uint64_t at, std::uint64_t end,
                     allocator::Request& request) const;
  void translate_neighbours(const Op& op, allocator::Request& request) const;
  [[nodiscard]] bool refused_before(const Op& op) const;

  const InputTable& inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

// Makes its own decisions from start to end and compares them with the recorded kernel's.
class FreeRun : public WhatIf {
 public:
  using WhatIf::WhatIf;

 private:
  void decided(const Op& op, const allocator::Decision& decision) override {
    (void)agreement_.count(op, decision, false);
  }
  [[nodiscard]] std::uint64_t discards_for_one() const override { return 1; }
  void not_needed(const Op& op) override { agreement_.count_not_taken(op); }
};

}  // namespace e4r::replay
