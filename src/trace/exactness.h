// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/event.h"
#include "trace/summary.h"

namespace e4r::trace {

// What is known of a recording beside its events.
struct KnownOfRecording {
  bool every_event = false;     // wanted_events() was on: what is not there did not happen
  bool buddies_loaded = false;  // each group's, before the trace began, as reading mb_groups does
};

// Watches the events of one device and tells what stands in the way of replaying them exactly.
class ExactnessCheck {
 public:
  void add(std::span<const Event> events);

  // One line for each thing that is missing or in the way; empty when nothing is. docs/fidelity.md
  // says why each of them matters.
  [[nodiscard]] std::vector<std::string> obstacles(const TraceSummary& summary,
                                                   const KnownOfRecording& known = {}) const;
  // What the replay has to work out for itself, though it can: one line each.
  [[nodiscard]] std::vector<std::string> remarks(const TraceSummary& summary) const;

  // Requests during which another thread of the same file system asked or was answered.
  [[nodiscard]] std::uint64_t interleaved() const { return interleaved_; }
  // Requests that were answered without a closing event (refused before the search).
  [[nodiscard]] std::uint64_t unclosed() const { return unclosed_; }

 private:
  struct Open {
    bool closed = false;
    bool interleaved = false;
  };
  void add_one(const Event& event);
  void disturb_others(std::uint64_t key);

  std::unordered_map<std::uint64_t, Open> open_;  // requests without an answer, by dev and pid
  std::uint64_t interleaved_ = 0;
  std::uint64_t unclosed_ = 0;
};

}  // namespace e4r::trace
