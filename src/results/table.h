// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "results/rows.h"

namespace e4r::results {

// Every figure of every teller, once each, in the order of the table of a replay.
[[nodiscard]] std::vector<Row> table();

}  // namespace e4r::results
