// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>

#include "guest/random/life.h"

namespace e4r::test::random {

// Returns whether a life shows the fact under investigation.
using Shows = std::function<bool(const Life&)>;

// Returns a life that still shows the fact and from which nothing more can be removed: no step, no
// tunable, and no special feature of its file system (delta debugging, Zeller and Hildebrandt
// 2002). `life` must show the fact. Tries at most `most` lives. If that is not enough, returns the
// shortest life so far.
[[nodiscard]] Life minimise(Life life, const Shows& shows, std::uint32_t most);

}  // namespace e4r::test::random
