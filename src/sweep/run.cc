// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/run.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "sweep/line.h"
#include "util/parallel.h"

namespace e4r::sweep {
namespace {

// Points of one capture, and the setup of each replay.
struct Batch {
  const Subject* subject = nullptr;
  std::vector<std::size_t> points;
  std::vector<replay::Setup> setups;
};

// The points in order, in batches of as many as a thread runs at a time.
std::vector<Batch> batches_of(const Work& work, unsigned threads) {
  std::vector<Batch> wholes(work.subjects.size());
  for (const std::size_t index : work.points) {
    const Point& point = work.plan.points[index];
    Batch& whole = wholes[point.capture];
    whole.subject = &work.subjects[point.capture];
    whole.points.push_back(index);
    whole.setups.push_back(
        whole.subject->setup(*point.policy, work.plan.tunables(point, whole.subject->recorded)));
  }
  std::vector<Batch> out;
  for (Batch& whole : wholes) {
    if (whole.points.empty()) continue;
    const std::size_t size = whole.subject->session->in_lockstep(whole.setups, threads);
    for (std::size_t from = 0; from < whole.points.size(); from += size) {
      const std::size_t to = std::min(from + size, whole.points.size());
      Batch& part = out.emplace_back();
      part.subject = whole.subject;
      part.points.assign(&whole.points[from], &whole.points[to]);
      std::move(&whole.setups[from], &whole.setups[to], std::back_inserter(part.setups));
    }
  }
  return out;
}

}  // namespace

Status run_points(const Work& work,
                  const std::function<Status(std::size_t index, std::string line)>& done) {
  std::mutex mutex;
  Status first;  // the first failure
  std::atomic<bool> failed = false;
  const unsigned threads = thread_count(work.threads);
  const std::vector<Batch> batches = batches_of(work, threads);
  const auto run = [&](const Batch& batch) -> Status {
    std::vector<Result<replay::Run>> runs =
        batch.subject->session->what_if_in_lockstep(batch.setups);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      E4R_TRY(const replay::Run one, std::move(runs[i]));
      const std::size_t index = batch.points[i];
      E4R_CHECK(done(index, point_line(work.plan, index, results::outcome_of(one))));
    }
    return {};
  };
  parallel_for(threads, batches.size(), [&](std::size_t i) {
    if (failed || (work.stop != nullptr && *work.stop)) return;
    Status status = run(batches[i]);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) first = std::move(status);
  });
  return first;
}

}  // namespace e4r::sweep
