// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/printer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

#include "trace/text/body.h"

namespace e4r::trace {
namespace {

void print_lost_marker(std::string& out, const Event& event) {
  const auto to = std::back_inserter(out);
  if (event.count == 0)
    fmt::format_to(to, "CPU:{} [LOST EVENTS]\n", event.cpu);
  else
    fmt::format_to(to, "CPU:{} [LOST {} EVENTS]\n", event.cpu, event.count);
}

}  // namespace

void print_ftrace_header(std::string& out) {
  out +=
      "# tracer: nop\n"
      "#\n"
      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
      "#              | |         |   |||||     |         |\n";
}

void print_ftrace_event(std::string& out, const Event& event, Generation generation) {
  if (event.kind == EventKind::lost_events) return print_lost_marker(out, event);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto to = std::back_inserter(out);
  const std::uint64_t seconds = event.time_ns / kSecond, ns = event.time_ns % kSecond;
  fmt::format_to(to, FMT_COMPILE("           <...>-{:<7} [{:03}] ..... {:5}."), event.pid,
                 event.cpu, seconds);
  if (ns % 1000 == 0)
    fmt::format_to(to, FMT_COMPILE("{:06}: "), ns / 1000);
  else
    fmt::format_to(to, FMT_COMPILE("{:09}: "), ns);
  out += event_name(event.kind);
  out += ": ";
  print_body(out, event, generation);
  out += '\n';
}

}  // namespace e4r::trace
