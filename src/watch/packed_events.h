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

// Successive events, packed into few bytes each.
struct EventBlock {
  // The largest number of events in a block. A block needs about a hundred bytes in addition to its
  // events.
  static constexpr std::size_t kMost = 1024;
  std::vector<std::uint8_t> bytes;
  std::uint64_t first = 0;  // the number of its first event, counted from 0
  std::uint32_t events = 0;
  [[nodiscard]] std::uint64_t end() const { return first + events; }
};

// Packs events into as many blocks as needed. `first` is the number of the first event.
void pack_events(std::span<const trace::Event> events, std::uint64_t first,
                 const std::function<void(EventBlock block)>& add);
[[nodiscard]] Status unpack_events(const EventBlock& block, std::vector<trace::Event>& out);

}  // namespace e4r::watch
