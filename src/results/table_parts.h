// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "results/rows.h"

namespace e4r::results {

// Short names for Row::told.
inline constexpr std::uint8_t kReplay = by(Teller::replay), kReview = by(Teller::review),
                              kHunt = by(Teller::hunt), kAge = by(Teller::age),
                              kWriters = by(Teller::writers), kWatch = by(Teller::watch),
                              kMetrics = by(Teller::metrics);

// The share of a part, 0 of nothing.
[[nodiscard]] inline double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace e4r::results
