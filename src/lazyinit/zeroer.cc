// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/zeroer.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "util/file.h"
#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

std::string attribute(const std::filesystem::path& supply, const char* name) {
  return read_attribute((supply / name).string());
}

}  // namespace

bool on_battery(const std::string& supplies) {
  bool discharging = false;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(supplies, gone)) {
    const std::string type = attribute(entry.path(), "type");
    if (type == "Battery") {
      discharging |= attribute(entry.path(), "scope") != "Device" &&
                     attribute(entry.path(), "status") == "Discharging";
    } else if (attribute(entry.path(), "online") == "1") {
      return false;
    }
  }
  return discharging;
}

namespace {

constexpr Clock::Duration kSlice = std::chrono::milliseconds(100);
constexpr Clock::Duration kAskAgain = std::chrono::seconds(1);

// <linux/ioprio.h> of 6.1 does not compile as C++: it names a parameter `class`.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioIdle = 3 << 13;

class SystemClock : public Clock {
 public:
  Duration now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void sleep(Duration time) override { std::this_thread::sleep_for(time); }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Throttle::Throttle(const Pace& pace, const std::atomic<bool>* stop, Clock& clock)
    : pace_(pace), stop_(stop), clock_(clock) {}

void Throttle::sleep_until(Clock::Duration end) {
  for (auto now = clock_.now(); now < end && !stopped(); now = clock_.now())
    clock_.sleep(std::min(kSlice, end - now));
}

bool Throttle::paused() {
  const std::lock_guard lock(pause_mutex_);
  return pace_.paused && pace_.paused();
}

// Returns the time at which the bytes may start.
Clock::Duration Throttle::admit(std::uint64_t bytes) {
  const std::lock_guard lock(rate_mutex_);
  const auto start = std::max(clock_.now(), next_);
  next_ = start + time_for(bytes);
  return start;
}

Clock::Duration Throttle::time_for(std::uint64_t bytes) const {
  const double seconds = static_cast<double>(bytes) / static_cast<double>(pace_.max_rate);
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds));
}

void Throttle::give_back(std::uint64_t bytes) {
  if (pace_.max_rate == 0) return;
  const std::lock_guard lock(rate_mutex_);
  next_ -= time_for(bytes);
}

void Throttle::before(std::uint64_t bytes, const std::function<void()>& on_pause) {
  for (bool first = true; !stopped() && paused(); first = false) {
    if (first) on_pause();
    sleep_until(clock_.now() + kAskAgain);
  }
  if (pace_.max_rate != 0) sleep_until(admit(bytes));
}

void Throttle::after(Clock::Duration time) {
  if (pace_.wait_multiplier != 0) sleep_until(clock_.now() + time * pace_.wait_multiplier);
}

void become_idle() {
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  (void)::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioIdle);
}

namespace {

// A group to zero. It is a copy, since the flags in Tables change while threads work.
struct Todo {
  std::uint32_t group = 0;
  ByteRange range;
  std::uint64_t used_bytes = 0;
};

// Groups whose ranges are adjacent.
using Job = std::span<const Todo>;

ByteRange range_of(Job job) {
  const std::uint64_t begin = job.front().range.offset;
  return {begin, job.back().range.end() - begin};
}

Result<std::vector<Todo>> plan(const Tables& tables, std::span<const std::uint32_t> groups,
                               bool flagged_too) {
  if (!tables.has_group_checksums())
    return error(
        "the file system has neither uninit_bg nor metadata_csum: its groups have no "
        "flag that could say that a table is zero");
  const auto all = tables.tables();
  std::vector<Todo> parts;
  for (const std::uint32_t group : groups) {
    if (group >= all.size())
      return error("group {} does not exist: the last one is {}", group, all.size() - 1);
    const Table& table = all[group];
    if (!table.zeroed || flagged_too)
      parts.push_back({group, table.unused_part, table.whole.length - table.unused_part.length});
  }
  return parts;
}

std::vector<Job> jobs_of(std::span<const Todo> parts, const ZeroOptions& options) {
  const Pace& pace = options.pace;
  const bool singly = pace.wait_multiplier != 0 || pace.max_rate != 0 || pace.paused;
  const std::uint64_t most = std::min(kMostAtOnce, options.sync_every);
  std::vector<Job> jobs;
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    const std::uint64_t start = parts[begin].range.offset;
    for (end = begin + 1; end < parts.size() && !singly; ++end) {
      const ByteRange& next = parts[end].range;
      if (next.offset != parts[end - 1].range.end() || next.end() - start > most) break;
    }
    jobs.push_back(parts.subspan(begin, end - begin));
  }
  return jobs;
}

// Takes groups from a queue, zeroes them and puts them into `pending`. The thread that fills
// `pending` commits it while the others continue.
class Run {
 public:
  Run(Target& target, Tables& tables, std::span<const Todo> parts, const ZeroOptions& options,
      const std::function<void(const ZeroProgress&)>& progress)
      : target_(target),
        tables_(tables),
        jobs_(jobs_of(parts, options)),
        options_(options),
        progress_(progress),
        throttle_(options.pace, options.stop) {
    state_.groups_total = static_cast<std::uint32_t>(parts.size());
    for (const Todo& part : parts) state_.bytes_total += part.range.length;
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
      throttle_.before(range_of(*job).length, [this] { note(commit()); });
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

  Status process(Job job) {
    ZeroOutcome done;
    for (const Todo& part : job) done.bytes_avoided += part.used_bytes;
    E4R_CHECK(options_.probe ? probe_and_zero(job, done) : make_zero(job, done));
    if (done.zeroed != 0 && options_.pace.wait_multiplier != 0) E4R_CHECK(target_.sync());
    return record(job, done, done.bytes_written + done.bytes_zeroed);
  }

  // Reads up to the first table that is not zero, then continues after it. Adjacent tables that are
  // not zero become one request.
  Status probe_and_zero(Job job, ZeroOutcome& done) {
    std::size_t dirty = 0;  // the tables [dirty, at) are not zero
    for (std::size_t at = 0; at < job.size();) {
      const ByteRange rest = range_of(job.subspan(at));
      E4R_TRY(const Probed probed, target_.probe(rest.offset, rest.length));
      std::size_t bad = at;
      while (bad < job.size() &&
             (probed.content == Content::zeros || job[bad].range.end() <= probed.first)) {
        ++done.found_zero;
        done.bytes_avoided += job[bad++].range.length;
      }
      if (bad > at) {
        E4R_CHECK(make_zero(job.subspan(dirty, at - dirty), done));
        dirty = bad;
      }
      if (bad == job.size()) return {};
      done.unreadable += probed.content == Content::unreadable;
      at = bad + 1;
    }
    return make_zero(job.subspan(dirty), done);
  }

  Status make_zero(Job job, ZeroOutcome& done) {
    if (job.empty()) return {};
    done.zeroed += static_cast<std::uint32_t>(job.size());
    const ByteRange range = range_of(job);
    if (range.length == 0) return {};
    E4R_TRY(const Zeroed zeroed, target_.zero(range.offset, range.length, options_.by));
    done.bytes_written += zeroed.written;
    done.bytes_avoided += zeroed.holes;
    done.bytes_zeroed += range.length - zeroed.written - zeroed.holes;
    return {};
  }

  Status record(Job job, const ZeroOutcome& part, std::uint64_t unsynced) {
    throttle_.give_back(range_of(job).length - unsynced);
    bool full = false;
    {
      const std::lock_guard lock(mutex_);
      add(part);
      for (const Todo& one : job) pending_.push_back(one.group);
      pending_bytes_ += unsynced;
      full = pending_bytes_ >= options_.sync_every;
      state_.groups_done += static_cast<std::uint32_t>(job.size());
      state_.bytes_done += range_of(job).length;
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

  // Flags reach the target only here, after a sync.
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
  std::mutex mutex_;  // guards the members below
  std::size_t next_ = 0;
  std::vector<std::uint32_t> pending_;  // zeroed, but perhaps not durable yet
  std::uint64_t pending_bytes_ = 0;
  ZeroProgress state_;
  ZeroOutcome outcome_;
  std::optional<Error> failure_;
};

}  // namespace

Result<ZeroOutcome> zero_tables(Target& target, Tables& tables,
                                std::span<const std::uint32_t> groups, const ZeroOptions& options,
                                const std::function<void(const ZeroProgress&)>& progress) {
  E4R_TRY(const std::vector<Todo> parts, plan(tables, groups, options.flagged_too));
  ZeroOptions checked = options;
  checked.threads = std::max(1u, options.threads);
  Run run(target, tables, parts, checked, progress);
  if (!options.pace.idle) return run.all();
  // A thread cannot raise its priority again, so a separate thread lowers its own and then ends.
  return std::async(std::launch::async,
                    [&run] {
                      become_idle();
                      return run.all();
                    })
      .get();
}

}  // namespace e4r::lazyinit
