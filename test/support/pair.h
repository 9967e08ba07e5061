// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace e4r::test {

// Draws a small start image and a trace from the bytes, and replays the trace on the image with
// every driver. Image, policy and tunables are drawn field by field. The model performs drawn
// operations on that image and records their trace. Then the trace is damaged: fields of events are
// overwritten, and events are removed, repeated, swapped, and inserted with drawn fields. Every
// other trace begins after some of the operations. Its start state is the image and mb_groups of a
// mounted file system, and figures of mb_groups are overwritten, too. The replays then begin from
// the warm start that is deduced from this state. Every other replay also explains one decision.
//
// Returns the failure: the error of a replay, or a broken invariant (state::FsState::check).
// Returns "" if nothing failed. Any bytes are valid. Equal bytes give equal runs.
[[nodiscard]] std::string replay_pair(std::span<const std::uint8_t> bytes);

}  // namespace e4r::test
