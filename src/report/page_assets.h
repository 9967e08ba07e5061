// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r::report {

// src/report/html/page.css and page.js, as the build has put them in.
extern const std::string_view kPageCSS;
extern const std::string_view kPageJS;

}  // namespace e4r::report
