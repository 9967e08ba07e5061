// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>

#include "guest/random/life.h"

namespace e4r::test::random {

// Whether a life shows what is looked for.
using Shows = std::function<bool(const Life&)>;

// A life that still shows it and of which nothing can be left out: no step, no tunable, and none of
// what makes its file system special (delta debugging, Zeller and Hildebrandt 2002). `life` shows
// it. No more than `most` lives are tried; the shortest so far is then returned.
[[nodiscard]] Life minimise(Life life, const Shows& shows, std::uint32_t most);

}  // namespace e4r::test::random
