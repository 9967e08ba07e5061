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

// What is told of the other's decisions: each in order, and how many groups it had considered by
// then.
using Heard = std::function<void(const allocator::Decision&, std::uint64_t considered)>;

// What is held against the model: a kernel, or another model.
struct Other {
  std::unique_ptr<allocator::Decider> decider;
  // It tells its decisions so, and later than they are asked for; else allocate() returns them.
  std::function<void(Heard)> run_ahead;
};
// `loaded`: every buddy is to be.
using MakeOther = std::function<Result<Other>(const StartImage& image, bool loaded)>;

struct Sides {
  const allocator::Policy* policy = nullptr;  // of the model
  MakeOther other;
};

// Where two deciders part for the first time.
struct Parting {
  std::size_t step = 0;        // of the life; behind the last one: at the end
  std::uint64_t decision = 0;  // counted from 1
  std::string what;            // which facts differ
  std::string request;         // empty: at the end
  std::string ours, theirs;
};

struct Verdict {
  std::uint64_t decisions = 0;
  std::uint64_t failed = 0;                                // of them, that found nothing
  std::uint64_t preallocs = 0;                             // of them, served from a preallocation
  std::array<std::uint64_t, mb::kCriteria> found_by = {};  // searches, by criterion
  std::optional<Parting> parted;
};

// Takes the model and the other through a life, step by step. The Error: one of them cannot begin.
[[nodiscard]] Result<Verdict> hold(const Life& life, const StartImage& image, const Sides& sides);

}  // namespace e4r::test::random
