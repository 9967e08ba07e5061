// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r::report {

// src/report/html/*, as the build has put them in.
extern const std::string_view kPageCss;
extern const std::string_view kPartsJs;
extern const std::string_view kReplayJs;
extern const std::string_view kSweepJs;
extern const std::string_view kVerifyJs;
extern const std::string_view kWritersJs;

}  // namespace e4r::report
