// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/summary.h"

namespace e4r::trace::e4t {

// The payload of an end frame: counts of what precedes it, and the part of a summary that does not
// follow from the events.
struct Totals {
  std::uint64_t blocks = 0, events = 0;
  std::uint32_t chain = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

[[nodiscard]] std::vector<std::uint8_t> encode_facts(const Totals& totals,
                                                     const TraceSummary& summary);
// Skips facts of later versions. Returns false if the payload is damaged.
[[nodiscard]] bool decode_facts(std::span<const std::uint8_t> payload, Totals& totals,
                                TraceSummary& summary);

}  // namespace e4r::trace::e4t
