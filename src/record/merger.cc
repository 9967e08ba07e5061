// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/merger.h"

#include <algorithm>
#include <ctime>
#include <queue>
#include <tuple>

namespace e4r::record {
namespace {

clockid_t clock_id(TraceClock clock) {
  switch (clock) {
    case TraceClock::mono_raw:
      return CLOCK_MONOTONIC_RAW;
    case TraceClock::boot:
      return CLOCK_BOOTTIME;
    case TraceClock::mono:
      break;
  }
  return CLOCK_MONOTONIC;
}

}  // namespace

Result<TraceClock> parse_clock(const std::string& name) {
  for (const TraceClock clock : {TraceClock::mono, TraceClock::mono_raw, TraceClock::boot})
    if (name == clock_name(clock)) return clock;
  return error("'{}' is not a clock to record by: give mono, mono_raw or boot", name);
}

const char* clock_name(TraceClock clock) {
  switch (clock) {
    case TraceClock::mono_raw:
      return "mono_raw";
    case TraceClock::boot:
      return "boot";
    case TraceClock::mono:
      break;
  }
  return "mono";
}

std::uint64_t read_clock(TraceClock clock) {
  timespec now = {};
  ::clock_gettime(clock_id(clock), &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::span<trace::Event> Merger::take_before(std::uint64_t until) {
  out_.clear();
  using Head = std::tuple<std::uint64_t, std::size_t>;  // time, CPU
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto offer = [&](std::size_t cpu) {
    const auto& queue = queues_[cpu];
    if (!queue.empty() && queue.front().time_ns < until) heads.emplace(queue.front().time_ns, cpu);
  };
  for (std::size_t cpu = 0; cpu < queues_.size(); ++cpu) offer(cpu);
  while (!heads.empty()) {
    const std::size_t cpu = std::get<1>(heads.top());
    heads.pop();
    out_.push_back(queues_[cpu].front());
    queues_[cpu].pop_front();
    offer(cpu);
  }
  return out_;
}

namespace {

using trace::Event;
using trace::EventKind;

// An input and its event are made within microseconds, unless the thread is preempted in between.
constexpr std::uint64_t kApartNs = 100'000'000;

std::uint32_t kind_of(const Event& event) {
  switch (event.kind) {
    case EventKind::request_blocks:
      return E4R_INPUT_REQUEST;
    case EventKind::mballoc_alloc:
    case EventKind::mballoc_prealloc:
      return E4R_INPUT_CLOSING;
    default:
      return 0;
  }
}

bool is_of(const e4r_input& input, const Event& event) {
  const bool request = event.kind == EventKind::request_blocks;
  return input.kind == kind_of(event) && input.ino == event.ino && input.pid == event.pid &&
         input.logical == (request ? event.logical : event.orig.logical) &&
         input.len == (request ? event.count : event.orig.len);
}

}  // namespace

void InputJoin::add(const e4r_input& input) {
  if (input.kind != E4R_INPUT_REQUEST && input.kind != E4R_INPUT_CLOSING) return;
  queues_[input.cpu].push_back(input);
}

bool InputJoin::take(const Event& event, e4r_input& input) {
  auto& queue = queues_[event.cpu];
  while (!queue.empty() && queue.front().time_ns + kApartNs < event.time_ns) queue.pop_front();
  const auto found = std::find_if(queue.begin(), queue.end(),
                                  [&](const auto& other) { return is_of(other, event); });
  if (found == queue.end() || found->time_ns > event.time_ns + kApartNs) return false;
  input = *found;
  queue.erase(found);  // earlier inputs stay: their events come later or were lost
  return true;
}

std::uint16_t InputJoin::cpu_of_group(std::uint64_t offset, std::uint16_t seen_on) {
  Group& group = groups_.try_emplace(offset, Group{seen_on, {}}).first->second;
  if (++group.seen[seen_on] > group.seen[group.cpu]) group.cpu = seen_on;
  return group.cpu;
}

void InputJoin::set_group_cpu(std::span<Event> events, const Event& closing,
                              const e4r_input& input) {
  if (input.group_offset == 0) return;
  // The kernel chooses the group right after the request's event, so the request's CPU counts. The
  // search may take long, and the thread may finish it on another CPU.
  const auto request = open_.find(closing.pid);
  if (request == open_.end()) {
    cpu_of_group(input.group_offset, closing.cpu);
    return;
  }
  std::uint16_t& cpu = events[request->second].cpu;
  cpu = cpu_of_group(input.group_offset, cpu);
}

void InputJoin::complete(std::span<Event> events) {
  open_.clear();
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    if (kind_of(event) == 0) continue;
    const bool request = event.kind == EventKind::request_blocks;
    if (request) open_[event.pid] = i;
    e4r_input input;
    const bool there = take(event, input);
    if (request) ++(there ? completed_ : missed_);
    if (!there) continue;
    if (request) {
      event.has_inputs = true;
      event.i_size = input.i_size;
      event.i_writecount = input.i_writecount;
      continue;
    }
    if (event.kind == EventKind::mballoc_alloc) event.orig_goal_len = input.orig_goal_len;
    set_group_cpu(events, event, input);
  }
}

}  // namespace e4r::record
