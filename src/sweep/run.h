// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "report/replay_report.h"
#include "sweep/plan.h"

namespace e4r::sweep {

// A capture that is open and has been followed: shared by all of its points, read only.
struct Subject {
  const replay::Session* session = nullptr;      // null: none of its points is to be run
  const report::ReplayReport* report = nullptr;  // its head: image, trace
  allocator::Tunables recorded;
  // Who decides for the capture under a policy.
  std::function<replay::Setup(const allocator::Policy&, const allocator::Tunables&)> setup;
};

struct Work {
  const Plan& plan;
  std::span<const std::size_t> points;      // indices, begun in this order capture by capture
  std::span<const Subject> subjects;        // by PlanSpec::captures
  unsigned threads = 0;                     // 0: one per CPU
  const std::atomic<bool>* stop = nullptr;  // once set, no point is begun
};

// Replays the points in threads, each thread a few at a time (Session::in_lockstep). Each point is
// handed over as its line (line.h), on the thread that ran it, as soon as those that run with it
// are finished, and its engine is freed: memory follows what is running. Returns when nothing is
// running any more; the Error is the first of a replay or of `done`, after which no point is begun.
[[nodiscard]] Status run_points(
    const Work& work, const std::function<Status(std::size_t index, std::string line)>& done);

}  // namespace e4r::sweep
