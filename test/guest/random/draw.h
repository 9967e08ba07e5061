// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "guest/random/life.h"
#include "state/fs_state.h"
#include "util/rng.h"

namespace e4r::test::random {

// Draws a file system that is often small, odd or nearly full.
[[nodiscard]] Shape draw_shape(Rng& rng);

// Draws the steps: files are written, grown, truncated and removed. Their sizes and the mix of
// actions are drawn first, so that lives differ.
[[nodiscard]] std::vector<Step> draw_steps(Rng& rng, const state::Source& source,
                                           std::uint32_t count);

}  // namespace e4r::test::random
