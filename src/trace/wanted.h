// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "trace/event.h"

namespace e4r::trace {

// What a recording is for.
enum class Purpose : std::uint8_t {
  allocator,  // `e4replay verify` and `replay`
  shrinker,   // `e4replay shrinker`
};

// An event that a recording should have. Without an essential one it cannot be replayed exactly,
// unless nothing of the kind happened (ExactnessCheck says what is then in the way); the others
// spare the replay a guess.
struct WantedEvent {
  EventKind kind;
  bool essential;
};

// All of them, in no order that matters. A kernel may lack some that are not essential.
[[nodiscard]] std::span<const WantedEvent> wanted_events(Purpose purpose);

}  // namespace e4r::trace
