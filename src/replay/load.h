// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"
#include "state/fs_state.h"

namespace e4r::replay {

// The start state of a replay: what the kernel knows right after mount. `image` must have its
// bitmaps loaded, and must outlive the Source, which refers to them.
[[nodiscard]] state::Source source_from(const image::Image& image);

}  // namespace e4r::replay
