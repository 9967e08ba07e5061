// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "trace/event.h"

namespace e4r::trace {

// The purpose of a recording.
enum class Purpose : std::uint8_t {
  allocator,  // `e4replay verify` and `replay`
  shrinker,   // `e4replay shrinker`
};

// An event that a recording should have. Without an essential event no exact replay is possible,
// unless nothing of that kind happened (ExactnessCheck then reports the obstacle). Without another
// event the replay has to guess.
struct WantedEvent {
  EventKind kind;
  bool essential;
};

// All events for a purpose, in no particular order. A kernel may lack some that are not essential.
[[nodiscard]] std::span<const WantedEvent> wanted_events(Purpose purpose);

// A set of kinds of events.
class KindSet {
 public:
  [[nodiscard]] static constexpr KindSet all() { return KindSet(~std::uint64_t{0}); }
  [[nodiscard]] static constexpr KindSet none() { return KindSet(0); }
  // The kinds that a recording for this purpose should have.
  [[nodiscard]] static KindSet wanted(Purpose purpose);
  [[nodiscard]] constexpr bool contains(EventKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1) != 0;
  }

 private:
  static_assert(kEventKinds <= 64);
  explicit constexpr KindSet(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_;
};

}  // namespace e4r::trace
