// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"

namespace e4r::sweep {

// A page about the finished points: the advice (ranking.h), plots of every figure over one and two
// tunables, and a plot of the cost of searches against the number of pieces of files. The page
// shows `metric` first.
[[nodiscard]] std::string sweep_html(const Plan& plan, const Figures& figures,
                                     const results::Row& metric);

}  // namespace e4r::sweep
