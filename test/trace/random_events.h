// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "trace/event.h"

namespace e4r::trace::test {

// Events of all kinds with any values in the fields that their kind has: small, related to the
// event before, or as wild as the field's width allows. `printable` keeps to what the text formats
// can say: whole numbers of nanoseconds in the clock's range, criteria of Linux 6.5.
[[nodiscard]] std::vector<Event> random_events(std::uint64_t seed, std::size_t count,
                                               bool printable);

}  // namespace e4r::trace::test
