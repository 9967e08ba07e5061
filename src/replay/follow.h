// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <utility>

#include "replay/engine.h"
#include "replay/input_table.h"

namespace e4r::replay {

// Follows the recorded kernel: each decision is compared with the recorded one, which is put in its
// place where they differ (resync).
class Follow : public Engine {
 public:
  Follow(const state::Source& source, const allocator::Policy& policy,
         const allocator::Tunables& tunables, EngineOptions options)
      : Engine(source, policy, tunables, std::move(options)) {}

  // What the run has worked out; leaves nothing.
  [[nodiscard]] InputTable take_inputs() { return std::exchange(inputs_, {}); }
  // What the decisions of a warm start's file system have shown of the order of its lists. It has
  // been put right as soon as it showed.
  [[nodiscard]] const std::vector<WarmStart::Precedence>& learnt() const { return learnt_; }

 private:
  void decide(const Op& op, std::uint64_t index) override;
  void free(const Op& op, const BlockRange& range) override;
  void let_go(const std::vector<BlockRange>&, bool) override {}

  void learn_order(const Op& op, const allocator::Decision& own);

  std::vector<WarmStart::Precedence> learnt_;
  InputTable inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

}  // namespace e4r::replay
