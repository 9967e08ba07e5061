// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace e4r::tools {

// "e4replay 0.2.0 (e27a1c3)": the release, and the commit of the build, if known. All programs of
// the project have the same release.
[[nodiscard]] std::string version_line();

// The parts of e4replay that this build lacks, separated by semicolons; empty if it has all.
[[nodiscard]] std::string_view left_out();

}  // namespace e4r::tools
