// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/packed_events.h"

#include <algorithm>
#include <utility>

#include "trace/e4t/block.h"

namespace e4r::watch {

namespace e4t = trace::e4t;

void pack_events(std::span<const trace::Event> events, std::uint64_t first,
                 const std::function<void(EventBlock block)>& add) {
  e4t::BlockEncoder encoder;
  const auto seal = [&] {
    const auto payload = encoder.payload();
    EventBlock block;
    block.first = first;
    block.events = encoder.events();
    // The decoder may read beyond the end of the last event.
    block.bytes = std::vector<std::uint8_t>(payload.size() + e4t::kMaxEventBytes);
    std::ranges::copy(payload, block.bytes.begin());
    first = block.end();
    add(std::move(block));
    encoder.clear();
  };
  for (const trace::Event& event : events) {
    if (encoder.full() || encoder.events() == EventBlock::kMost) seal();
    encoder.add(event);
  }
  if (!encoder.empty()) seal();
}

Status unpack_events(const EventBlock& block, std::vector<trace::Event>& out) {
  out.resize(block.events);
  e4t::BlockDecoder decoder({block.bytes.data(), block.bytes.size() - e4t::kMaxEventBytes},
                            block.events);
  std::size_t got = 0;
  while (got < out.size()) {
    E4R_TRY(const std::size_t more, decoder.read(std::span(out).subspan(got)));
    if (more == 0) return error("a block of events is damaged");
    got += more;
  }
  return {};
}

}  // namespace e4r::watch
