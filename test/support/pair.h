// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace e4r::test {

// Draws a small start image and a trace from the bytes, and replays the trace on it in every way.
// Image, policy and tunables are drawn field by field. The trace is what the model itself records
// of drawn operations on that image; then fields of its events are overwritten, events are removed,
// repeated and swapped, and events of drawn fields put in between. Every other trace begins after
// some of the operations: its start image is that of a file system in use, with mb_groups, of which
// figures are overwritten too, and the replays begin from the warm start that is deduced of them.
// Every other replay also writes a decision down for a person.
//
// Returns what went wrong: a replay that failed, or a broken invariant of the state (state::FsState
// ::check). Empty when nothing did. Any bytes are good; the same ones do the same.
[[nodiscard]] std::string replay_pair(std::span<const std::uint8_t> bytes);

}  // namespace e4r::test
