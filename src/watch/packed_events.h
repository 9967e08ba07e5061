// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trace/event.h"
#include "util/status.h"

namespace e4r::watch {

// Successive events in a few bytes each.
struct EventBlock {
  // Events are packed in so many at a time. A block needs some hundred bytes beside its events.
  static constexpr std::size_t kMost = 1024;
  std::vector<std::uint8_t> bytes;
  std::uint64_t first = 0;  // the number of its first event, from 0
  std::uint32_t events = 0;
  [[nodiscard]] std::uint64_t end() const { return first + events; }
};

// Packs events, the first of which has that number, into as many blocks as it takes.
void pack_events(std::span<const trace::Event> events, std::uint64_t first,
                 const std::function<void(EventBlock block)>& add);
[[nodiscard]] Status unpack_events(const EventBlock& block, std::vector<trace::Event>& out);

}  // namespace e4r::watch
