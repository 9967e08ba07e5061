// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "replay/engine.h"
#include "replay/input_table.h"
#include "replay/warm_start.h"

namespace e4r::replay {

// Follows the recorded kernel. Compares each decision with the recorded one, and puts the recorded
// one in its place if they differ (resync).
class Follow : public Engine {
 public:
  // `late`: requests that are decided at the place of their answer, ascending.
  Follow(const state::Source& source, std::unique_ptr<allocator::Model> model,
         EngineOptions options, std::vector<std::uint64_t> late = {})
      : Engine(source, std::move(model), std::move(options)),
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
  // The recorded kernel's outcome, however the model decides.
  [[nodiscard]] DecisionRow row_of(const Op& op, const allocator::Decision&,
                                   const SearchCost&) const override {
    return recorded_row(op, geometry());
  }

  void note_inputs(std::uint64_t request, const allocator::Inputs& inputs);
  void learn_order(const Op& op, const allocator::Decision& own, state::OrderLists lists);
  void note_order(const Op& op);

  allocator::Model& model_;  // the engine's decider; a kernel's decisions cannot be corrected
  std::vector<WarmStart::Precedence> learnt_;
  std::set<std::uint64_t> maybe_late_, late_in_vain_;
  InputTable inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

}  // namespace e4r::replay
