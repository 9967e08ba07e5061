// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace e4r::test {

// Draws a small start image and a trace from the bytes, and replays the trace on the image with
// every driver. Image, policy and tunables are drawn field by field. The model records the trace
// from drawn operations on that image. Then fields of its events are overwritten; events are
// removed, repeated, swapped, and inserted with drawn fields. Every other trace begins after some
// of the operations: its start image is that of a mounted file system, with mb_groups, whose
// figures are overwritten too. The replays then begin from the warm start that is deduced from
// these. Every other replay also explains one decision.
//
// Returns the failure: a replay that failed, or a broken invariant (state::FsState::check). Returns
// "" if there is none. Any bytes are valid; equal bytes give equal runs.
[[nodiscard]] std::string replay_pair(std::span<const std::uint8_t> bytes);

}  // namespace e4r::test
