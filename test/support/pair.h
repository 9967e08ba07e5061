// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace e4r::test {

// Draws a small start image and a trace from the bytes, and replays the trace on it in every way.
// Image, policy and tunables are drawn field by field. The trace is what the model itself records
// of drawn operations on that image; then fields of its events are overwritten, events are removed,
// repeated and swapped, and events of drawn fields put in between.
//
// Returns what went wrong: a replay that failed, or a broken invariant of the state (state::FsState
// ::check). Empty when nothing did. Any bytes are good; the same ones do the same.
[[nodiscard]] std::string replay_pair(std::span<const std::uint8_t> bytes);

}  // namespace e4r::test
