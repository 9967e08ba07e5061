// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "allocator/request.h"
#include "replay/engine.h"
#include "replay/warm_start.h"

namespace e4r::replay {

// Inputs of decisions that the trace does not carry. Follow works them out for runs that decide
// alone.
struct InputTable {
  std::vector<allocator::Inputs> known;      // by request number (Op::request) less 1
  std::vector<std::uint64_t> refused_frees;  // events that free blocks not in use, ascending
  // Requests, numbered from 1 and ascending, that are decided at the place of their answer, because
  // that gives the recorded result (OpStream).
  std::vector<std::uint64_t> late;
  // FITRIM calls (RecordedTrim::call), ascending, whose minlen was below that of the previous call.
  std::vector<std::uint32_t> trims_again;
};

// Follows the recorded kernel. Compares each decision with the recorded one, and puts the recorded
// one in its place if they differ (resync).
class Follow : public Engine {
 public:
  // `late`: requests that are decided at the place of their answer, ascending.
  Follow(const state::Source& source, std::unique_ptr<allocator::Model> model, const Setup& setup,
         const TraceFacts& trace, std::vector<std::uint64_t> late = {})
      : Engine(source, std::move(model), setup, trace),
        model_(static_cast<allocator::Model&>(decider())) {
    inputs_.late = std::move(late);
  }

  // What the run has worked out so far. A request's inputs are known as soon as it is decided.
  [[nodiscard]] const InputTable& inputs() const { return inputs_; }
  // Whether no later event changed an input, so that another run would find the same. The end of a
  // FITRIM call shows what its beginning needs.
  [[nodiscard]] bool is_settled() const {
    return learnt_.empty() && maybe_late_.empty() && inputs_.trims_again.empty();
  }
  // The inputs at the end. Leaves the run without them.
  [[nodiscard]] InputTable take_inputs() { return std::exchange(inputs_, {}); }
  // What the decisions of a warm file system have shown of the order of its lists. The lists were
  // corrected as soon as it showed.
  [[nodiscard]] const std::vector<WarmStart::Precedence>& learnt() const { return learnt_; }
  // Requests that may have been decided at the place of their answer: their decision, or one made
  // meanwhile, differs. Also requests of `late` for which that did not give the recorded result.
  [[nodiscard]] const std::set<std::uint64_t>& maybe_late() const { return maybe_late_; }
  [[nodiscard]] const std::set<std::uint64_t>& late_in_vain() const { return late_in_vain_; }

 private:
  [[nodiscard]] std::span<const std::uint64_t> late() const override { return inputs_.late; }
  void decide(const Op& op) override;
  void free(const Op& op, const BlockRange& range) override;
  void let_go(const std::vector<BlockRange>&, bool) override {}
  bool trims_again(std::uint32_t call, bool from_this) override;

  void note_inputs(std::uint64_t request, const allocator::Inputs& inputs);
  void learn_order(const Op& op, const allocator::Decision& own, state::OrderLists lists);
  void note_order(const Op& op);

  allocator::Model& model_;  // the engine's decider; a kernel's decisions cannot be corrected
  std::vector<WarmStart::Precedence> learnt_;
  std::set<std::uint64_t> maybe_late_, late_in_vain_;
  InputTable inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

// Decides alone from start to end: what the same files would have got. It moves requests and frees
// from the recorded layout to the replay's own.
class WhatIf : public Engine {
 public:
  // `inputs`: from a Follow of the same trace; must outlive the run.
  WhatIf(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         const Setup& setup, const TraceFacts& trace, const InputTable& inputs)
      : Engine(source, std::move(decider), setup, trace), inputs_(inputs) {}

 protected:
  // Told of the decision for a request, which an earlier request may have served already.
  virtual void decided(const Op&, const allocator::Decision&) {}
  virtual void not_needed(const Op&) {}
  // Another layout has other extents, so a worker sends all that commits have given back.
  [[nodiscard]] std::uint64_t discards_for_one() const override {
    return allocator::Discards::kAll;
  }

 private:
  [[nodiscard]] std::span<const std::uint64_t> late() const override { return inputs_.late; }
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
  void go_on(const FileLayout& file, std::uint64_t at, std::uint64_t end,
             allocator::Request& request) const;
  void translate_neighbours(const Op& op, allocator::Request& request) const;
  [[nodiscard]] bool refused_before(const Op& op) const;

  const InputTable& inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

// Decides alone from start to end and compares with the recorded kernel.
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
