// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/zeroer.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lazyinit/throttle.h"
#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

// What is to be done, copied: the flags in Tables change while threads work.
struct Job {
  std::uint32_t group = 0;
  ByteRange range;
  std::uint64_t used_bytes = 0;
};

Result<std::vector<Job>> plan(const Tables& tables, std::span<const std::uint32_t> groups) {
  if (!tables.has_group_checksums())
    return error(
        "the file system has neither uninit_bg nor metadata_csum: its groups have no "
        "flag that could say that a table is zero");
  const auto all = tables.tables();
  std::vector<Job> jobs;
  for (const std::uint32_t group : groups) {
    if (group >= all.size())
      return error("group {} does not exist: the last one is {}", group, all.size() - 1);
    const Table& table = all[group];
    if (!table.zeroed)
      jobs.push_back({group, table.unused_part, table.whole.length - table.unused_part.length});
  }
  return jobs;
}

// Groups go from a queue through zeroing into `pending`; whoever fills it commits it while the
// others go on.
class Run {
 public:
  Run(Target& target, Tables& tables, std::vector<Job> jobs, const ZeroOptions& options,
      const std::function<void(const ZeroProgress&)>& progress)
      : target_(target),
        tables_(tables),
        jobs_(std::move(jobs)),
        options_(options),
        progress_(progress),
        throttle_(options.pace, options.stop) {
    state_.groups_total = static_cast<std::uint32_t>(jobs_.size());
    for (const Job& job : jobs_) state_.bytes_total += job.range.length;
  }

  Result<ZeroOutcome> all() {
    parallel_for(options_.threads, options_.threads, [this](std::size_t) { work(); });
    if (!failure_) note(commit());
    if (!failure_) note(target_.sync());
    if (failure_) return *failure_;
    outcome_.stopped = state_.groups_done < state_.groups_total;
    return outcome_;
  }

 private:
  void work() {
    while (const Job* job = take()) {
      throttle_.before(job->range.length, [this] { note(commit()); });
      if (throttle_.stopped() || failed()) return;
      const auto start = throttle_.clock().now();
      note(process(*job));
      throttle_.after(throttle_.clock().now() - start);
    }
  }

  const Job* take() {
    const std::lock_guard lock(mutex_);
    if (failure_ || throttle_.stopped() || next_ == jobs_.size()) return nullptr;
    return &jobs_[next_++];
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }

  void note(Status status) {
    const std::lock_guard lock(mutex_);
    if (!status.ok() && !failure_) failure_ = std::move(status).error();
  }

  Status process(const Job& job) {
    ZeroOutcome part;
    part.bytes_avoided = job.used_bytes;
    E4R_TRY(const bool zero, found_zero(job, part));
    if (!zero) E4R_CHECK(make_zero(job, part));
    if (!zero && options_.pace.wait_multiplier != 0) E4R_CHECK(target_.sync());
    return record(job, part, part.bytes_written + part.bytes_zeroed);
  }

  Result<bool> found_zero(const Job& job, ZeroOutcome& part) {
    if (!options_.probe || job.range.length == 0) return false;
    E4R_TRY(const Probed probed, target_.probe(job.range.offset, job.range.length));
    if (probed.content == Content::unreadable) part.unreadable = 1;
    if (probed.content != Content::zeros) return false;
    part.found_zero = 1;
    part.bytes_avoided += job.range.length;
    return true;
  }

  Status make_zero(const Job& job, ZeroOutcome& part) {
    part.zeroed = 1;
    if (job.range.length == 0) return {};
    E4R_TRY(const Zeroed zeroed, target_.zero(job.range.offset, job.range.length));
    part.bytes_written = zeroed.written;
    part.bytes_avoided += zeroed.holes;
    part.bytes_zeroed = job.range.length - zeroed.written - zeroed.holes;
    return {};
  }

  Status record(const Job& job, const ZeroOutcome& part, std::uint64_t unsynced) {
    throttle_.give_back(job.range.length - unsynced);
    bool full = false;
    {
      const std::lock_guard lock(mutex_);
      add(part);
      pending_.push_back(job.group);
      pending_bytes_ += unsynced;
      full = pending_bytes_ >= options_.sync_every;
      ++state_.groups_done;
      state_.bytes_done += job.range.length;
      if (progress_) progress_(state_);
    }
    return full ? commit() : Status();
  }

  void add(const ZeroOutcome& part) {
    outcome_.zeroed += part.zeroed;
    outcome_.found_zero += part.found_zero;
    outcome_.unreadable += part.unreadable;
    outcome_.bytes_written += part.bytes_written;
    outcome_.bytes_zeroed += part.bytes_zeroed;
    outcome_.bytes_avoided += part.bytes_avoided;
  }

  // The one place where flags reach the target, and the sync stands before it.
  Status commit() {
    const std::lock_guard one_at_a_time(commit_mutex_);
    std::vector<std::uint32_t> groups;
    {
      const std::lock_guard lock(mutex_);
      groups.swap(pending_);
      pending_bytes_ = 0;
    }
    if (groups.empty()) return {};
    E4R_CHECK(target_.sync());
    for (const std::uint32_t group : groups) tables_.set_zeroed(group, true);
    return tables_.flush();
  }

  Target& target_;
  Tables& tables_;
  const std::vector<Job> jobs_;
  const ZeroOptions& options_;
  const std::function<void(const ZeroProgress&)>& progress_;
  Throttle throttle_;

  std::mutex commit_mutex_;
  std::mutex mutex_;  // guards what follows
  std::size_t next_ = 0;
  std::vector<std::uint32_t> pending_;  // zero, perhaps not durable
  std::uint64_t pending_bytes_ = 0;
  ZeroProgress state_;
  ZeroOutcome outcome_;
  std::optional<Error> failure_;
};

}  // namespace

Result<ZeroOutcome> zero_tables(Target& target, Tables& tables,
                                std::span<const std::uint32_t> groups, const ZeroOptions& options,
                                const std::function<void(const ZeroProgress&)>& progress) {
  E4R_TRY(std::vector<Job> jobs, plan(tables, groups));
  ZeroOptions checked = options;
  checked.threads = std::max(1u, options.threads);
  Run run(target, tables, std::move(jobs), checked, progress);
  if (!options.pace.idle) return run.all();
  // Priorities cannot be raised again, so they are lowered in a thread that ends.
  return std::async(std::launch::async,
                    [&run] {
                      become_idle();
                      return run.all();
                    })
      .get();
}

}  // namespace e4r::lazyinit
