// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"
#include "state/fs_state.h"

namespace e4r::replay {

// The start state of a replay, taken from an image whose bitmaps are loaded: what the kernel knows
// right after mount. Its bitmaps are the image's own: keep the image as long as the Source.
[[nodiscard]] state::Source source_from(const image::Image& image);

}  // namespace e4r::replay
