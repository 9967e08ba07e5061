// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"

namespace e4r::sweep {

// A page about the finished points: the advice (ranking.h), every figure plotted over one and two
// tunables, and the cost of searches over the pieces of files. The page shows `metric` first.
[[nodiscard]] std::string sweep_html(const Plan& plan, const Figures& figures,
                                     const results::Row& metric);

}  // namespace e4r::sweep
