// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/run.h"

#include <mutex>

#include "sweep/line.h"
#include "util/parallel.h"

namespace e4r::sweep {
namespace {

Result<std::string> run_point(const Work& work, std::size_t index) {
  const Point& point = work.plan.points[index];
  const Subject& subject = work.subjects[point.capture];
  E4R_TRY(const replay::Run run, subject.session->what_if(subject.setup(
                                     *point.policy, work.plan.tunables(point, subject.recorded))));
  return point_line(work.plan, index, report::summarize(run), *subject.report);
}

}  // namespace

Status run_points(const Work& work,
                  const std::function<Status(std::size_t index, std::string line)>& done) {
  std::mutex mutex;
  Status first;  // what failed
  std::atomic<bool> failed = false;
  const auto run = [&](std::size_t index) -> Status {
    E4R_TRY(std::string line, run_point(work, index));
    return done(index, std::move(line));
  };
  parallel_for(thread_count(work.threads), work.points.size(), [&](std::size_t i) {
    if (failed || (work.stop != nullptr && *work.stop)) return;
    Status status = run(work.points[i]);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) first = std::move(status);
  });
  return first;
}

}  // namespace e4r::sweep
