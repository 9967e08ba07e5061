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

 private:
  void decide(const Op& op, std::uint64_t index) override;
  void free(const Op& op, const BlockRange& range) override;
  void let_go(const std::vector<BlockRange>&) override {}

  InputTable inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

}  // namespace e4r::replay
