// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "results/rows.h"

namespace e4r::results {

// Adds the figures of free space and of files, which are part of table().
void add_space(std::vector<Row>& out);

}  // namespace e4r::results
