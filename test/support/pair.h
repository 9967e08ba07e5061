// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace e4r::test {

// Draws a small start image and a trace from the bytes, and replays the trace on the image in every
// way. Image, policy and tunables are drawn field by field. The model records the trace from drawn
// operations on that image. Then fields of its events are overwritten; events are removed,
// repeated, swapped, and inserted with drawn fields. Every other trace begins after some of the
// operations: its start image is that of a file system in use, with mb_groups, whose figures are
// overwritten too. The replays then begin from the warm start deduced from these. Every other
// replay also explains one decision.
//
// Returns what went wrong: a replay that failed, or a broken invariant (state::FsState::check).
// Empty if all is well. Any bytes are valid; equal bytes give equal runs.
[[nodiscard]] std::string replay_pair(std::span<const std::uint8_t> bytes);

}  // namespace e4r::test
