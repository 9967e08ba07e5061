// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"

namespace e4r::sweep {

// The finished points as a page: the advice (ranking.h), every figure against one and two tunables,
// and the cost of searches against the pieces of files. The page shows `metric` first.
[[nodiscard]] std::string sweep_html(const Plan& plan, const Figures& figures,
                                     const results::Row& metric);

}  // namespace e4r::sweep
