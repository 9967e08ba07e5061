// SPDX-License-Identifier: GPL-2.0-or-later
// Decodes the input as the payload of a block, without the file's checksums. Packing and decoding
// the decoded events again must give the same events.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "trace/e4t/block.h"

namespace {

using namespace e4r::trace;

std::vector<Event> decode(std::vector<std::uint8_t> payload, std::uint32_t events) {
  const std::size_t size = payload.size();
  payload.resize(size + e4t::kMaxEventBytes);
  e4t::BlockDecoder decoder({payload.data(), size}, events);
  std::vector<Event> out;
  std::array<Event, 100> batch;
  for (;;) {
    const auto got = decoder.read(batch);
    if (!got.ok() || *got == 0) return out;
    out.insert(out.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto events = decode({data, data + size}, e4t::kBlockEvents);
  e4t::BlockEncoder encoder;
  std::size_t packed = 0;
  while (packed < events.size() && !encoder.full()) encoder.add(events[packed++]);
  const auto payload = encoder.payload();
  const auto again = decode({payload.begin(), payload.end()}, encoder.events());
  if (!std::equal(again.begin(), again.end(), events.begin(),
                  events.begin() + static_cast<std::ptrdiff_t>(packed)))
    std::abort();
  return 0;
}
