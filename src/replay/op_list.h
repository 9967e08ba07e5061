// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/op_stream.h"

namespace e4r::replay {

// The operations of a trace that Intake admits, in the order in which they took effect. For replays
// that take them in another order.
using OpList = std::vector<Op>;

// The arguments are the same as OpStream's.
[[nodiscard]] Result<OpList> read_ops(trace::EventSource& events, const Geometry& geometry,
                                      bool loaded, std::span<const std::uint64_t> late);

}  // namespace e4r::replay
