// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>

#include "replay/engine.h"
#include "replay/input_table.h"

namespace e4r::replay {

// Decides alone from start to end: what the same files would have got. It moves requests and frees
// from the recorded layout to the replay's own.
class WhatIf : public Engine {
 public:
  // `inputs`: from a Follow of the same trace; must outlive the run.
  WhatIf(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
         EngineOptions options, const InputTable& inputs)
      : Engine(source, std::move(decider), std::move(options)), inputs_(inputs) {}

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

  void note(const Op& op, const allocator::Decision& decision, bool& first);
  void place_data(const Op& op, allocator::Request& request);
  void place_metadata(const Op& op, allocator::Request& request);
  void go_on(const FileLayout& file, std::uint64_t at, std::uint64_t end,
             allocator::Request& request) const;
  void translate_neighbours(const Op& op, allocator::Request& request) const;
  [[nodiscard]] bool refused_before(const Op& op) const;

  const InputTable& inputs_;
  std::vector<BlockRange> freed_;  // scratch
};

}  // namespace e4r::replay
