// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "app/inputs.h"
#include "report/replay_report.h"

namespace e4r::app {

// Adds the paths that the files have in the image. A file that was made while it was recorded has
// none there, although its inode may have had another file before.
[[nodiscard]] Status name_files(const Inputs& inputs, const Listener& listener,
                                report::FragmentedFiles& all);

}  // namespace e4r::app
