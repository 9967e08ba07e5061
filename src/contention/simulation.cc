// SPDX-License-Identifier: GPL-2.0-or-later
#include "contention/simulation.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "contention/program.h"

namespace e4r::contention {
namespace {

using What = RequestProgram::What;

constexpr std::uint32_t kNone = UINT32_MAX;

struct Lock {
  struct Waiter {
    std::uint32_t writer;
    bool shares;
  };
  std::uint32_t holders = 0;
  bool exclusive = false;
  bool hands_over = false;     // a mutex whose first waiter woke up and found it taken
  std::deque<Waiter> waiters;  // first come, first served

  [[nodiscard]] bool admits(bool shares) const {
    return holders == 0 || (shares && !exclusive && waiters.empty());
  }
  [[nodiscard]] bool admits_next() const {
    return !waiters.empty() && (holders == 0 || (waiters.front().shares && !exclusive));
  }
  void enter(bool shares) {
    ++holders;
    exclusive = !shares;
  }
};

struct Writer {
  RequestProgram program;  // steps of its current request
  std::size_t step = 0;
  std::uint64_t runs_until = 0;  // the time of its own next event
  std::uint64_t left_ns = 0;     // time from that event until the writer reaches the next step
  std::uint64_t slice_end = 0;
  std::uint64_t lock_since = 0;  // when its wait for a lock began
  std::uint64_t cpu_since = 0;   // when its wait for a CPU began
  std::uint32_t cpu = kNone;
  std::uint32_t served_on = 0;  // the CPU whose locality group serves the request
  // If set, the group of other_lock serves the request instead of the group of recorded_lock.
  std::uint32_t recorded_lock = kNone, other_lock = kNone;
  std::uint64_t moves_ns = 0;  // delay after it releases its group's lock
  bool thinks = true;
  bool prepares = false;  // it is doing the work before the request
  bool woken = false;     // the mutex for which it waited became free
};

std::optional<std::uint64_t> ns_to_first_try(const RequestProgram& program) {
  std::uint64_t at = 0;
  for (const RequestProgram::Step& step : program.steps) {
    at += step.after_ns;
    if (step.what == What::tries) return at;
  }
  return std::nullopt;
}

// The CPUs that last used a group: its buddy for a search, and its bitmap and descriptor for
// marking.
struct LastUse {
  std::uint32_t search = kNone, marking = kNone;
};

class Simulation {
 public:
  Simulation(Requests& requests, unsigned writers, const Machine& machine)
      : requests_(requests),
        numbers_(machine.cpus),
        locks_(numbers_.count()),
        writers_(writers),
        cpus_(machine.cpus),
        moved_(machine.moved) {
    out_.writers = writers;
    out_.cpus = machine.cpus;
  }

  Result<SimulationOutcome> run() {
    for (unsigned cpu = cpus_; cpu > 0; --cpu) idle_.push_back(cpu - 1);
    active_ = writers_.size();
    for (std::uint32_t writer = 0; writer < writers_.size(); ++writer) begin_next(writer);
    while (!events_.empty() && status_.ok()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.ns;
      advance(event.writer);
    }
    E4R_CHECK(status_);
    out_.deadlocked = active_ > 0;
    std::erase_if(out_.waits, [](const auto& of) { return of.waits.count == 0; });
    std::ranges::stable_sort(out_.waits, std::greater(),
                             [](const auto& of) { return of.waits.ns; });
    return std::move(out_);
  }

 private:
  struct Event {
    std::uint64_t ns;
    std::uint64_t order;  // orders events at the same time
    std::uint32_t writer;
    bool operator<(const Event& other) const {
      return ns != other.ns ? ns > other.ns : order > other.order;
    }
  };

  void begin_next(std::uint32_t number);
  void prepare(std::uint32_t number);
  void serve(std::uint32_t number);
  void read(const allocator::LockNotes& notes, RequestProgram& program);
  void advance(std::uint32_t number);
  void run_for(std::uint32_t number, std::uint64_t ns);
  void resume(std::uint32_t number);
  void get_cpu(std::uint32_t number);
  void leave_cpu(std::uint32_t number);
  bool do_step(std::uint32_t number, const RequestProgram::Step& step);
  bool try_group(std::uint32_t number, std::uint32_t lock, const RequestProgram::Step& step);
  bool take(std::uint32_t number, std::uint32_t lock, const RequestProgram::Step& step);
  bool take_mutex(std::uint32_t number, std::uint32_t lock);
  void let_go(std::uint32_t lock, const RequestProgram::Step& step);
  void hand_over(Lock& lock);
  void let_mutex_go(Lock& mutex);
  void note_wait(const Writer& writer);
  void approach_next(Writer& writer);
  void set_out(Writer& writer);
  [[nodiscard]] std::uint64_t move_here(Writer& writer, const RequestProgram::Step& step);
  [[nodiscard]] allocator::HeldLocks held_by_others(std::uint32_t number, std::uint64_t then) const;
  [[nodiscard]] std::uint32_t lock_of(std::uint32_t number, const RequestProgram::Step& step) const;

  Requests& requests_;
  LockNumbers numbers_;
  std::vector<Lock> locks_;
  std::vector<Writer> writers_;
  unsigned cpus_;
  MovedLines moved_;
  std::unordered_map<std::uint64_t, LastUse> last_uses_;  // by group
  std::vector<std::uint32_t> idle_;                       // idle CPUs
  std::deque<std::uint32_t> ready_;                       // writers that wait for a CPU
  std::priority_queue<Event> events_;
  std::size_t active_ = 0;  // number of writers with requests left
  std::uint64_t now_ = 0;
  std::uint64_t approach_ns_ = 0;  // time in which the last search reached a group
  std::uint64_t order_ = 0;
  Status status_;
  SimulationOutcome out_;
};

// Starts the writer's next request, or ends the writer.
void Simulation::begin_next(std::uint32_t number) {
  Writer& writer = writers_[number];
  auto think_ns = requests_.think_ns(number);
  if (!think_ns.ok()) {
    status_ = std::move(think_ns).error();
    return;
  }
  if (!*think_ns) {
    --active_;
    if (writer.cpu != kNone) leave_cpu(number);
    return;
  }
  writer.thinks = true;
  writer.recorded_lock = kNone;
  writer.left_ns = **think_ns;
  out_.busy_ns += writer.left_ns;
  out_.think_ns += writer.left_ns;
  if (writer.cpu == kNone)
    get_cpu(number);
  else
    resume(number);
}

// The group locks that others will hold at the time `then`, in the near future. Assumes that
// waiting writers keep waiting and thinking writers keep thinking.
allocator::HeldLocks Simulation::held_by_others(std::uint32_t number, std::uint64_t then) const {
  allocator::HeldLocks held;
  for (std::uint32_t lock = 0; lock < allocator::kGroupLocks; ++lock)
    held[lock] = locks_[lock].holders > 0;
  for (std::uint32_t other = 0; other < writers_.size(); ++other) {
    const Writer& writer = writers_[other];
    if (other == number || writer.thinks || writer.runs_until < now_) continue;
    const std::vector<RequestProgram::Step>& steps = writer.program.steps;
    std::uint64_t at = writer.runs_until + writer.left_ns;
    for (std::size_t i = writer.step; i < steps.size() && at <= then; ++i) {
      const std::uint32_t lock = lock_of(other, steps[i]);
      if (lock < allocator::kGroupLocks) held[lock] = steps[i].what != What::let_go;
      if (i + 1 < steps.size()) at += steps[i + 1].after_ns;
    }
  }
  return held;
}

void Simulation::read(const allocator::LockNotes& notes, RequestProgram& program) {
  numbers_.read(notes, program);
  if (locks_.size() < numbers_.count()) locks_.resize(numbers_.count());
  const std::vector<std::string>& names = notes.names();
  for (std::size_t i = out_.waits.size(); i < names.size(); ++i)
    out_.waits.push_back({names[i], {}});
}

// Starts the writer's work before its request.
void Simulation::prepare(std::uint32_t number) {
  Writer& writer = writers_[number];
  const auto notes = requests_.prepare(number);
  if (!notes.ok()) {
    status_ = notes.error();
    return;
  }
  writer.prepares = *notes != nullptr && (*notes)->size() > 0;
  if (!writer.prepares) return serve(number);
  read(**notes, writer.program);
  writer.step = 0;
  set_out(writer);
}

// Lets the allocator decide the writer's request.
void Simulation::serve(std::uint32_t number) {
  Writer& writer = writers_[number];
  writer.prepares = false;
  writer.served_on = writer.cpu;
  writer.step = 0;
  const Result<Served> served =
      requests_.serve(number, writer.cpu, held_by_others(number, now_ + approach_ns_));
  if (!served.ok()) {
    status_ = served.error();
    return;
  }
  out_.evasions += served->left;
  read(*served->notes, writer.program);
  approach_ns_ = ns_to_first_try(writer.program).value_or(approach_ns_);
  set_out(writer);
}

// Gives the writer a CPU, or queues it.
void Simulation::get_cpu(std::uint32_t number) {
  Writer& writer = writers_[number];
  if (idle_.empty()) {
    writer.cpu_since = now_;
    ready_.push_back(number);
    return;
  }
  writer.cpu = idle_.back();
  idle_.pop_back();
  writer.slice_end = now_ + Machine::kSliceNs;
  resume(number);
}

// Passes the writer's CPU to a writer that waits for one.
void Simulation::leave_cpu(std::uint32_t number) {
  Writer& writer = writers_[number];
  idle_.push_back(writer.cpu);
  writer.cpu = kNone;
  if (ready_.empty()) return;
  const std::uint32_t next = ready_.front();
  ready_.pop_front();
  out_.cpu_wait_ns += now_ - writers_[next].cpu_since;
  get_cpu(next);
}

// Lets the writer compute until its next step, or think until the end of its slice. Requests are
// not preempted: they are short, and kernels do not preempt their own code at once
// (PREEMPT_VOLUNTARY, PREEMPT_LAZY).
void Simulation::resume(std::uint32_t number) {
  const Writer& writer = writers_[number];
  const bool bounded = cpus_ < writers_.size() && writer.thinks;
  const std::uint64_t slice = writer.slice_end > now_ ? writer.slice_end - now_ : 0;
  run_for(number, bounded && slice > 0 ? std::min(slice, writer.left_ns) : writer.left_ns);
}

void Simulation::run_for(std::uint32_t number, std::uint64_t ns) {
  Writer& writer = writers_[number];
  writer.left_ns -= ns;
  writer.runs_until = now_ + ns;
  events_.push({writer.runs_until, order_++, number});
}

// Called when the writer has finished computing or thinking.
void Simulation::advance(std::uint32_t number) {
  Writer& writer = writers_[number];
  if (now_ >= writer.slice_end && writer.thinks && cpus_ < writers_.size()) {
    writer.slice_end = now_ + Machine::kSliceNs;
    if (!ready_.empty()) {
      leave_cpu(number);
      get_cpu(number);
      return;
    }
  }
  if (writer.left_ns > 0) return resume(number);
  const std::vector<RequestProgram::Step>& steps = writer.program.steps;
  if (writer.thinks) {
    writer.thinks = false;
    prepare(number);
  } else if (writer.step == steps.size() && writer.prepares) {
    serve(number);
  } else if (writer.step == steps.size()) {
    out_.ns = now_;
    ++out_.requests;
    return begin_next(number);
  } else {
    if (!do_step(number, steps[writer.step])) return;
    approach_next(writer);
  }
  resume(number);
}

// Completes a step and schedules the next one.
void Simulation::approach_next(Writer& writer) {
  const std::uint64_t moved_ns = move_here(writer, writer.program.steps[writer.step]);
  ++writer.step;
  set_out(writer);
  writer.left_ns += moved_ns;
  out_.busy_ns += moved_ns;
}

// The delay after this step for fetching a group's cache lines from the CPU that used them last.
// The step takes or releases the group's lock.
std::uint64_t Simulation::move_here(Writer& writer, const RequestProgram::Step& step) {
  if (step.group == RequestProgram::kNoGroup) return 0;
  if (step.what == What::let_go) return std::exchange(writer.moves_ns, 0);
  const bool elsewhere = step.lock == writer.recorded_lock;
  const std::uint32_t further =
      elsewhere ? (writer.other_lock - step.lock) % allocator::kGroupLocks : 0;
  LastUse& uses = last_uses_[std::uint64_t{step.group} + further];
  std::uint32_t& last = step.marks ? uses.marking : uses.search;
  const std::uint32_t before = std::exchange(last, writer.cpu);
  if (before == kNone || before == writer.cpu) return 0;
  writer.moves_ns = moved_.unlocked_ns;
  return moved_.held_ns;
}

void Simulation::set_out(Writer& writer) {
  const RequestProgram& program = writer.program;
  const bool ends = writer.step == program.steps.size();
  writer.left_ns = ends ? program.rest_ns : program.steps[writer.step].after_ns;
  out_.busy_ns += writer.left_ns;
}

std::uint32_t Simulation::lock_of(std::uint32_t number, const RequestProgram::Step& step) const {
  const Writer& writer = writers_[number];
  if (step.of_cpu) return step.lock + writer.served_on;
  return step.lock == writer.recorded_lock ? writer.other_lock : step.lock;
}

// Performs a step. Returns false if the writer continues later or with another group.
bool Simulation::do_step(std::uint32_t number, const RequestProgram::Step& step) {
  const std::uint32_t lock = lock_of(number, step);
  if (step.what == What::let_go) {
    let_go(lock, step);
    return true;
  }
  if (step.what == What::tries) return try_group(number, lock, step);
  return take(number, lock, step);
}

// Passes over a group whose lock is taken. If that group was to serve the request, the next group
// by number with a free lock serves it; if no lock is free, the writer waits.
bool Simulation::try_group(std::uint32_t number, std::uint32_t lock,
                           const RequestProgram::Step& step) {
  Writer& writer = writers_[number];
  if (locks_[lock].admits(false)) return take(number, lock, step);
  ++out_.evasions;
  const std::vector<RequestProgram::Step>& steps = writer.program.steps;
  if (!step.decides) {
    while (steps[writer.step].what != What::let_go || steps[writer.step].lock != step.lock)
      ++writer.step;
    return true;
  }
  const std::uint64_t next_ns = numbers_.next_group_ns();
  std::uint64_t looked_ns = next_ns;
  for (std::uint32_t i = 1; i < allocator::kGroupLocks; ++i) {
    const std::uint32_t other = (lock + i) % allocator::kGroupLocks;
    if (!locks_[other].admits(false)) {
      ++out_.evasions;
      looked_ns += next_ns;
      continue;
    }
    writer.recorded_lock = step.lock;
    writer.other_lock = other;
    writer.left_ns = looked_ns;
    out_.busy_ns += looked_ns;
    run_for(number, looked_ns);  // then it tries again
    return false;
  }
  return take(number, lock, step);
}

bool Simulation::take(std::uint32_t number, std::uint32_t lock, const RequestProgram::Step& step) {
  if (!step.spins) return take_mutex(number, lock);
  Writer& writer = writers_[number];
  const bool shares = step.what == What::share;
  if (locks_[lock].admits(shares)) {
    locks_[lock].enter(shares);
    return true;
  }
  locks_[lock].waiters.push_back({number, shares});
  writer.lock_since = now_;
  return false;
}

// A writer that arrives while a mutex is free takes it, even if others sleep on it. If the first
// sleeper wakes up and finds it taken, it is handed the mutex next (__mutex_lock_common, Linux
// 6.1).
bool Simulation::take_mutex(std::uint32_t number, std::uint32_t lock) {
  Writer& writer = writers_[number];
  Lock& mutex = locks_[lock];
  const bool woken = std::exchange(writer.woken, false);
  if (mutex.holders == 0) {
    mutex.enter(false);
    if (woken) {
      mutex.waiters.pop_front();
      note_wait(writer);
    }
    return true;
  }
  if (woken) {
    mutex.hands_over = true;
  } else {
    mutex.waiters.push_back({number, false});
    writer.lock_since = now_;
  }
  leave_cpu(number);
  return false;
}

void Simulation::let_go(std::uint32_t lock, const RequestProgram::Step& step) {
  --locks_[lock].holders;
  if (step.spins)
    hand_over(locks_[lock]);
  else
    let_mutex_go(locks_[lock]);
}

// Passes a spinlock to its first waiter, or to all leading waiters that share it.
void Simulation::hand_over(Lock& lock) {
  while (lock.admits_next()) {
    const Lock::Waiter next = lock.waiters.front();
    lock.waiters.pop_front();
    lock.enter(next.shares);
    Writer& writer = writers_[next.writer];
    note_wait(writer);
    approach_next(writer);
    resume(next.writer);
  }
}

void Simulation::let_mutex_go(Lock& mutex) {
  if (mutex.waiters.empty()) return;
  const std::uint32_t first = mutex.waiters.front().writer;
  Writer& writer = writers_[first];
  if (std::exchange(mutex.hands_over, false)) {
    mutex.waiters.pop_front();
    mutex.enter(false);
    note_wait(writer);
    approach_next(writer);
    get_cpu(first);
  } else if (!std::exchange(writer.woken, true)) {
    get_cpu(first);  // then it tries again
  }
}

// Records the end of a wait for a lock.
void Simulation::note_wait(const Writer& writer) {
  const RequestProgram::Step& waited = writer.program.steps[writer.step];
  Waits& waits = out_.waits[waited.name].waits;
  ++waits.count;
  waits.ns += now_ - writer.lock_since;
}

}  // namespace

Waits SimulationOutcome::all_waits() const {
  Waits all;
  for (const LockWaits& of : waits) {
    all.count += of.waits.count;
    all.ns += of.waits.ns;
  }
  return all;
}

double SimulationOutcome::share_waited(const Waits& of) const {
  const std::uint64_t all = busy_ns + all_waits().ns;
  return all == 0 ? 0 : static_cast<double>(of.ns) / static_cast<double>(all);
}

double SimulationOutcome::requests_per_second() const {
  return ns == 0 ? 0 : static_cast<double>(requests) * 1e9 / static_cast<double>(ns);
}

Result<SimulationOutcome> simulate(Requests& requests, unsigned writers, const Machine& machine) {
  return Simulation(requests, writers, machine).run();
}

}  // namespace e4r::contention
