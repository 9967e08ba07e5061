// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/summary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "trace/trace.h"
#include "util/status.h"
#include "util/units.h"

namespace e4r::trace {
namespace {

// The maximum number of distinct names. Further names are counted with the last one, as for
// devices.
constexpr std::size_t kMaxNames = 1000;
constexpr std::size_t kMaxNameLength = 64;

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

void DeliveredCounts::deliver(const Event& event) {
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

void TraceSummary::add_malformed(EventKind kind) {
  ++skipped_lines;
  ++malformed[static_cast<std::size_t>(kind)];
}

std::vector<std::string> not_understood(const TraceSummary& s) {
  std::vector<std::string> out;
  const auto say = [&out]<class... A>(std::uint64_t count,
                                      fmt::format_string<std::string, A...> text, A&&... args) {
    if (count > 0) out.push_back(fmt::format(text, format_count(count), std::forward<A>(args)...));
  };
  std::uint64_t lines = s.skipped_lines, flags = s.unknown_flags, fields = s.unknown_fields;
  for (std::size_t i = 0; i < s.malformed.size(); ++i) {
    const std::string_view name = event_name(static_cast<EventKind>(i));
    say(s.malformed[i], "{} malformed {} events were skipped", name);
    say(s.unknown_flags_of[i], "{} flags of {} have unknown names and were left out", name);
    say(s.unknown_fields_of[i],
        "{} {} events have fields that this program does not know, which were left out", name);
    lines -= std::min(lines, s.malformed[i]);
    fields -= std::min(fields, s.unknown_fields_of[i]);
    flags -= std::min(flags, s.unknown_flags_of[i]);
  }
  say(lines, "{} malformed lines were skipped");
  say(flags, "{} flag names are unknown and were left out");
  say(fields, "{} events have fields that this program does not know, which were left out");
  say(s.unknown_criteria, "{} searches name a criterion that this program does not know");
  say(s.damaged, "at {} places data are damaged or missing, and were skipped");
  say(s.without_cpu,
      "{} events do not say their CPU, which decides where streams and preallocations are: print "
      "it too (`perf script -F comm,tid,cpu,time,event,trace`)");
  return out;
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
  std::ranges::move(not_understood(s), std::back_inserter(out));
  return out;
}

const DeviceCount* busiest(std::span<const DeviceCount> devices) {
  const DeviceCount* best = nullptr;
  for (const DeviceCount& d : devices)
    if (best == nullptr ||
        std::pair(d.requests, d.events) > std::pair(best->requests, best->events))
      best = &d;
  return best;
}

namespace {

std::string device_list(const TraceSummary& summary) {
  std::string out;
  for (const DeviceCount& d : summary.devices) {
    if (!out.empty()) out += ' ';
    out += device_name(d.dev);
  }
  return out;
}

}  // namespace

Result<DeviceChoice> choose_device(const std::string& name, const TraceSummary& summary,
                                   std::optional<std::uint32_t> wanted, const EventSink* sink) {
  if (summary.devices.empty()) return error("{}: holds no ext4 allocation events", name);
  const auto has = [&](const DeviceCount& d) { return d.dev == wanted; };
  if (wanted && std::ranges::none_of(summary.devices, has))
    return error("{}: holds no events of device {}, only of {}", name, device_name(*wanted),
                 device_list(summary));
  if (wanted) return DeviceChoice{*wanted, {}};
  if (summary.devices.size() == 1) return DeviceChoice{summary.devices.front().dev, {}};
  if (sink != nullptr)
    if (const auto preferred = sink->prefers(summary)) return *preferred;
  return DeviceChoice{busiest(summary.devices)->dev, "the busiest"};
}

std::string device_note(const TraceSummary& summary, const DeviceChoice& choice) {
  return fmt::format(
      "the trace has events of devices {}: taking {}, {}; choose another with --device",
      device_list(summary), device_name(choice.dev), choice.why);
}

std::string_view kernel_of(const TraceSummary& summary) {
  static constexpr std::array<std::string_view, 4> kOlder = {"", "before 5.9", "before 5.7",
                                                             "before 4.0"};
  if (summary.older_than != OlderThan::unknown)
    return kOlder[static_cast<std::size_t>(summary.older_than)];
  const bool newer = summary.generation == Generation::v6_5 && summary.streams_without_start > 0;
  return newer ? "6.17 or later" : generation_name(summary.generation);
}

std::uint64_t lost_by_stats(std::string_view stats) {
  std::uint64_t sum = 0;
  for (const std::string_view key : {"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "}) {
    const std::size_t at = stats.find(key);
    if (at == std::string_view::npos) continue;
    std::uint64_t value = 0;
    std::from_chars(stats.data() + at + key.size(), stats.data() + stats.size(), value);
    sum += value;
  }
  return sum;
}

}  // namespace e4r::trace
