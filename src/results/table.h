// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "results/rows.h"

namespace e4r::results {

// Returns every figure of every reporter once, in the order of a replay's table.
[[nodiscard]] std::vector<Row> table();

}  // namespace e4r::results
