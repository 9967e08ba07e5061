// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "report/rows.h"

namespace e4r::report {

// Rows of what lies behind the counts of extents, as docs/metrics.md defines them: the layout of
// files, the order in which their blocks were handed out, free space in large pieces.
void add_layout_rows(std::vector<Row>& out);

}  // namespace e4r::report
