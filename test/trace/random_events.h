// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "trace/event.h"

namespace e4r::trace::test {

// Makes events of all kinds with random values in the fields of their kind: small values, values
// related to the previous event, and values of the field's full width. `printable` limits them to
// values that the text formats can express: times in the clock's range, criteria of Linux 6.5.
[[nodiscard]] std::vector<Event> random_events(std::uint64_t seed, std::size_t count,
                                               bool printable);

}  // namespace e4r::trace::test
