// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::tools {

// "e4replay 0.1.0 (e27a1c3)": the release, and the commit it was built from, if that is known. All
// programs of the project are of one release.
[[nodiscard]] std::string version_line();

}  // namespace e4r::tools
