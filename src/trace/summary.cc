// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/summary.h"

#include <algorithm>

#include "util/status.h"
#include "util/units.h"

namespace e4r::trace {
namespace {

// Distinct names and devices beyond these are counted with the last: a hostile trace must not
// fill memory.
constexpr std::size_t kMaxNames = 1000;
constexpr std::size_t kMaxNameLength = 64;
constexpr std::size_t kMaxDevices = 256;

DeviceCount& device_entry(std::vector<DeviceCount>& devices, std::uint32_t dev) {
  for (DeviceCount& entry : devices)
    if (entry.dev == dev) return entry;
  if (devices.size() >= kMaxDevices) return devices.back();
  return devices.emplace_back(DeviceCount{dev});
}

}  // namespace

std::string_view format_name(Format format) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "unknown", "ftrace text", "trace-cmd report", "perf script", "e4t", "trace-cmd recording"};
  return kNames[static_cast<std::size_t>(format)];
}

bool TraceSummary::add(const Event& event, const std::uint32_t* only) {
  if (cpus.size() <= event.cpu) cpus.resize(event.cpu + std::size_t{1});
  ++cpus[event.cpu];
  if (event.kind != EventKind::lost_events) {
    DeviceCount& device = device_entry(devices, event.dev);
    ++device.events;
    device.requests += event.kind == EventKind::request_blocks;
    if (only != nullptr && event.dev != *only) return false;
  }
  deliver(event);
  return true;
}

void TraceSummary::deliver(const Event& event) {
  if (events == 0 || event.time_ns < first_ns) first_ns = event.time_ns;
  if (event.time_ns > last_ns) last_ns = event.time_ns;
  ++events;
  ++by_kind[static_cast<std::size_t>(event.kind)];
  requests_with_inputs += event.has_inputs && event.kind == EventKind::request_blocks;
  streams_without_start += event.kind == EventKind::mballoc_alloc && event.goal_ex.start == -1 &&
                           (event.flags & mb::stream_alloc) != 0;
  if (event.kind != EventKind::lost_events) return;
  lost_events += event.count;
  lost_uncounted += event.count == 0;
}

void TraceSummary::restart() {
  events = first_ns = last_ns = requests_with_inputs = streams_without_start = lost_events =
      lost_uncounted = 0;
  by_kind = {};
}

void TraceSummary::add_unknown(std::string_view name) {
  name = name.substr(0, kMaxNameLength);
  for (NameCount& entry : unknown_events) {
    if (entry.name != name) continue;
    ++entry.count;
    return;
  }
  if (unknown_events.size() < kMaxNames)
    unknown_events.push_back({std::string(name), 1});
  else
    ++unknown_events.back().count;
}

std::vector<std::string> notes(const TraceSummary& s) {
  std::vector<std::string> out = s.warnings;
  const auto say = [&out]<class... A>(fmt::format_string<A...> text, A&&... args) {
    out.push_back(fmt::format(text, std::forward<A>(args)...));
  };
  if (s.lost_events > 0)
    say("the recorder lost {} events: the replay cannot be exact after that",
        format_count(s.lost_events));
  if (s.lost_uncounted > 0)
    say("the recorder lost events {} times without saying how many",
        format_count(s.lost_uncounted));
  if (s.overwritten > 0)
    say("the trace buffer was too small: {} events were overwritten before it was read",
        format_count(s.overwritten));
  if (s.skipped_lines > 0) say("{} malformed lines were skipped", format_count(s.skipped_lines));
  if (s.unknown_criteria > 0)
    say("{} searches name a criterion that this program does not know",
        format_count(s.unknown_criteria));
  if (s.unknown_flags > 0)
    say("{} flag names are unknown and were left out", format_count(s.unknown_flags));
  return out;
}

const DeviceCount* busiest(const TraceSummary& summary) {
  const DeviceCount* best = nullptr;
  for (const DeviceCount& d : summary.devices)
    if (best == nullptr ||
        std::pair(d.requests, d.events) > std::pair(best->requests, best->events))
      best = &d;
  return best;
}

std::string_view kernel_of(const TraceSummary& summary) {
  const bool newer = summary.generation == Generation::v6_5 && summary.streams_without_start > 0;
  return newer ? "6.17 or later" : generation_name(summary.generation);
}

}  // namespace e4r::trace
