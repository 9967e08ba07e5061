// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/clock.h"

#include <ctime>

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

}  // namespace e4r::record
