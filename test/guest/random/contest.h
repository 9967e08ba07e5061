// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "allocator/decider.h"
#include "allocator/policy.h"
#include "guest/random/life.h"
#include "guest/random/start_image.h"

namespace e4r::test::random {

// Receives the decisions of the other side in order. `considered` is the number of groups that it
// has considered so far.
using Heard =
    std::function<void(const allocator::Decision&, std::optional<std::uint64_t> considered)>;

// The opponent of the model: a kernel or another model.
struct Other {
  std::unique_ptr<allocator::Decider> decider;
  // If set, the other side reports its decisions through this function, with a delay. Otherwise
  // allocate() returns them.
  std::function<void(Heard)> run_ahead;
};
// Makes the other side. With `loaded`, every buddy is loaded.
using MakeOther = std::function<Result<Other>(const StartImage& image, bool loaded)>;

struct Sides {
  const allocator::Policy* policy = nullptr;  // the model's policy
  MakeOther other;
};

// The first difference between two deciders.
struct Parting {
  std::size_t step = 0;        // index of the step; the number of steps means after the last step
  std::uint64_t decision = 0;  // counted from 1
  std::string what;            // the facts that differ
  std::string request;         // empty if the difference appeared at the end
  std::string ours, theirs;
};

struct Verdict {
  std::uint64_t decisions = 0;
  std::uint64_t failed = 0;                                // decisions that found nothing
  std::uint64_t preallocs = 0;                             // decisions served from a preallocation
  std::array<std::uint64_t, mb::kCriteria> found_by = {};  // searches, by criterion
  std::optional<Parting> parted;
};

// Runs the model and the other side through a life, step by step. Fails if one of them cannot
// start.
[[nodiscard]] Result<Verdict> hold(const Life& life, const StartImage& image, const Sides& sides);

}  // namespace e4r::test::random
