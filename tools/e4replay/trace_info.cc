// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/trace_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <iterator>
#include <string_view>

#include "trace/trace.h"
#include "util/escaped.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using namespace trace;

constexpr double kSecond = 1e9;

std::string seconds(std::uint64_t ns) {
  return fmt::format("{:.6f}", static_cast<double>(ns) / kSecond);
}

// "label   value" lines. Values may be anybody's text.
class Lines {
 public:
  template <class... A>
  void add(std::string_view label, fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), "{:<17} ", label);
    out_ += escaped(fmt::format(format, std::forward<A>(args)...)) + '\n';
  }
  void list(std::string_view title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    fmt::format_to(std::back_inserter(out_), "{}:\n", title);
    for (const std::string& item : items)
      fmt::format_to(std::back_inserter(out_), "  - {}\n", escaped(item));
  }
  void count(std::string_view name, std::uint64_t count) {
    fmt::format_to(std::back_inserter(out_), "  {:<33} {:>15}\n", escaped(name),
                   format_count(count));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string format_text(const TraceSummary& s) {
  if (s.format == s.recorded_as || s.recorded_as == Format::unknown)
    return std::string(format_name(s.format));
  return fmt::format("{}, from {}", format_name(s.format), format_name(s.recorded_as));
}

std::string generation_text(const TraceSummary& s) {
  if (s.generation == Generation::unknown) return "unknown: no search was recorded";
  if (s.older_than != OlderThan::unknown)
    return fmt::format("{}, judging by its words", kernel_of(s));
  if (s.streams_without_start > 0)
    return fmt::format("{} ({} searches for streams have no start in their goal)", kernel_of(s),
                       format_count(s.streams_without_start));
  if (!s.generation_guessed || !s.kernel.empty()) return std::string(generation_name(s.generation));
  return fmt::format(
      "{} or another before 6.5, judging by criteria that are digits up to 3 (6.5 and 6.6 print "
      "digits too: if it was one of these, give --generation 6.5)",
      generation_name(s.generation));
}

std::string cpu_text(const TraceSummary& s) {
  std::string out;
  for (std::size_t cpu = 0; cpu < s.cpus.size(); ++cpu)
    if (s.cpus[cpu] > 0) out += fmt::format("{}{}", out.empty() ? "" : ", ", cpu);
  return out.empty() ? "none" : out;
}

std::string lost_text(const TraceSummary& s) {
  if (!s.lost_any()) return "none";
  std::string out = format_count(s.lost_events + s.overwritten);
  if (s.lost_uncounted > 0) out += " and more";
  return out;
}

// What the list of obstacles says is not said twice.
std::vector<std::string> notes_of(const Inspection& info) {
  std::vector<std::string> out = info.notes;
  std::erase_if(out, [&](const std::string& note) {
    return std::ranges::find(info.obstacles, note) != info.obstacles.end();
  });
  return out;
}

void device_lines(Lines& lines, const Inspection& info) {
  for (const DeviceCount& d : info.summary.devices)
    lines.add(&d == &info.summary.devices.front() ? "devices" : "", "{}: {} events, {} requests{}",
              device_name(d.dev), format_count(d.events), format_count(d.requests),
              d.dev == info.device && info.summary.devices.size() > 1 ? " (shown below)" : "");
}

}  // namespace

std::string info_text(const Inspection& info) {
  const TraceSummary& s = info.summary;
  Lines lines;
  lines.add("trace", "{}", info.name);
  lines.add("format", "{}", format_text(s));
  lines.add("kernel", "{}", generation_text(s));
  if (!s.kernel.empty()) lines.add("release", "{}", s.kernel);
  if (!s.clock.empty()) lines.add("clock", "{}", s.clock);
  device_lines(lines, info);
  lines.add("CPUs", "{}", cpu_text(s));
  lines.add("time", "{} to {} s ({} s)", seconds(s.first_ns), seconds(s.last_ns),
            seconds(s.last_ns - s.first_ns));
  lines.add("lost events", "{}", lost_text(s));
  lines.add("requests", "{}", format_count(s.count(EventKind::request_blocks)));
  lines.add("events", "{}", format_count(s.events));
  for (int k = 0; k < kEventKinds; ++k)
    if (const auto kind = static_cast<EventKind>(k); s.count(kind) > 0)
      lines.count(event_name(kind), s.count(kind));
  if (!s.unknown_events.empty()) lines.add("other events", "(not used)");
  for (const NameCount& other : s.unknown_events) lines.count(other.name, other.count);
  lines.list("notes", notes_of(info));
  lines.list("for an exact replay this is missing or in the way", info.obstacles);
  if (info.obstacles.empty()) lines.add("exact replay", "nothing is missing");
  lines.list("remarks", info.remarks);
  return lines.take();
}

boost::json::object info_json(const Inspection& info) {
  const TraceSummary& s = info.summary;
  boost::json::object events, unknown;
  for (int k = 0; k < kEventKinds; ++k)
    if (const auto kind = static_cast<EventKind>(k); s.count(kind) > 0)
      events[event_name(kind)] = s.count(kind);
  for (const NameCount& other : s.unknown_events) unknown[other.name] = other.count;
  boost::json::array devices, cpus;
  for (const DeviceCount& d : s.devices)
    devices.push_back(
        {{"device", device_name(d.dev)}, {"events", d.events}, {"requests", d.requests}});
  for (std::size_t cpu = 0; cpu < s.cpus.size(); ++cpu)
    if (s.cpus[cpu] > 0) cpus.push_back({{"cpu", cpu}, {"events", s.cpus[cpu]}});
  const auto strings = [](const std::vector<std::string>& list) {
    return boost::json::array(list.begin(), list.end());
  };
  return {{"name", info.name},
          {"format", format_name(s.format)},
          {"recorded_as", format_name(s.recorded_as)},
          {"generation", kernel_of(s)},
          {"generation_guessed", s.generation_guessed},
          {"release", s.kernel},
          {"clock", s.clock},
          {"device", device_name(info.device)},
          {"devices", devices},
          {"cpus", cpus},
          {"first_s", static_cast<double>(s.first_ns) / kSecond},
          {"last_s", static_cast<double>(s.last_ns) / kSecond},
          {"lines", s.lines},
          {"events", s.events},
          {"requests", s.count(EventKind::request_blocks)},
          {"requests_with_inputs", s.requests_with_inputs},
          {"events_by_kind", events},
          {"other_events", unknown},
          {"lost_events", s.lost_events + s.overwritten},
          {"lost_uncounted", s.lost_uncounted},
          {"skipped_lines", s.skipped_lines},
          {"notes", strings(info.notes)},
          {"obstacles", strings(info.obstacles)},
          {"remarks", strings(info.remarks)}};
}

}  // namespace e4r::tools
