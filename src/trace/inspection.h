// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/event.h"
#include "trace/summary.h"
#include "trace/trace.h"

namespace e4r::trace {

// Facts about a recording that its events do not show.
struct KnownOfRecording {
  bool every_event = false;  // all wanted_events() were enabled, so an absent event did not happen
  bool buddies_loaded = false;  // every group's buddy was loaded before the trace began, for
                                // example by reading mb_groups
};

// Examines the events of one device for obstacles to an exact replay.
class ExactnessCheck {
 public:
  void add(std::span<const Event> events);

  // Returns one line for each obstacle, such as a missing kind of event. docs/fidelity.md explains
  // why each matters.
  [[nodiscard]] std::vector<std::string> obstacles(const TraceSummary& summary,
                                                   const KnownOfRecording& known = {}) const;
  // Returns one line for each fact that was not recorded but that the replay can derive.
  [[nodiscard]] std::vector<std::string> remarks(const TraceSummary& summary) const;

  // The number of requests during which another thread, on the same file system, made a request or
  // got an answer.
  [[nodiscard]] std::uint64_t interleaved() const { return interleaved_; }
  // The number of requests that were answered without a closing event, that is, refused before a
  // search.
  [[nodiscard]] std::uint64_t unclosed() const { return unclosed_; }

 private:
  struct Open {
    bool closed = false;
    bool interleaved = false;
  };
  void add_one(const Event& event);
  void disturb_others(std::uint64_t key);

  std::unordered_map<std::uint64_t, Open> open_;  // unanswered requests by dev and pid
  std::uint64_t interleaved_ = 0;
  std::uint64_t unclosed_ = 0;
};

// The contents of a trace and the obstacles to an exact replay of one of its devices.
struct Inspection {
  std::string name;
  TraceSummary summary;  // counts only events of `device`
  std::uint32_t device = 0;
  std::vector<std::string> notes;
  std::vector<std::string> obstacles;  // to an exact replay
  std::vector<std::string> remarks;
};

// Reads the trace to its end without keeping its events. The trace must have been opened with
// late_generation. Fails if reading or choose_device() fails.
[[nodiscard]] Result<Inspection> inspect(Trace& trace, std::optional<std::uint32_t> device,
                                         const KnownOfRecording& known);

// The words that parse_generation() accepts.
inline constexpr std::array<std::pair<std::string_view, Generation>, 3> kGenerationWords = {{
    {"6.1", Generation::v6_1},
    {"6.5", Generation::v6_5},
    {"cr1.5", Generation::cr1_5},
}};

}  // namespace e4r::trace
