// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "replay/session.h"
#include "sweep/plan.h"

namespace e4r::sweep {

// A capture that is open and has been followed. All its points share it and only read it.
struct Subject {
  const replay::Session* session = nullptr;  // null if no point of it needs to run
  allocator::Tunables recorded;
  // Sets up the decider for the capture under a policy.
  std::function<replay::Setup(const allocator::Policy&, const allocator::Tunables&)> setup;
};

struct Work {
  const Plan& plan;
  std::span<const std::size_t> points;      // indices; within a capture they begin in this order
  std::span<const Subject> subjects;        // by PlanSpec::captures
  unsigned threads = 0;                     // 0: one per CPU
  const std::atomic<bool>* stop = nullptr;  // once set, no further point begins
};

// Replays the points in threads. Each thread runs several at a time (Session::in_lockstep). When
// all of these are finished, each is passed to `done` as its line (line.h), on the thread that ran
// it, and its engine is freed. Thus memory depends only on what is running. Returns when nothing
// runs any more. The Error is the first of a replay or of `done`; no point begins after it.
[[nodiscard]] Status run_points(
    const Work& work, const std::function<Status(std::size_t index, std::string line)>& done);

}  // namespace e4r::sweep
