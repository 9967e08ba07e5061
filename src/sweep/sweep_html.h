// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"

namespace e4r::sweep {

// The finished points as a page: what to take (advice.h), every figure along each tunable and over
// two of them, and what searches cost against the pieces that files lie in. `metric` is what it
// shows first.
[[nodiscard]] std::string sweep_html(const Plan& plan, const Figures& figures,
                                     const report::Row& metric);

}  // namespace e4r::sweep
