// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "app/inputs.h"
#include "report/replay_report.h"

namespace e4r::app {

// Adds the files' paths in the image. A file created during the recording gets no path, even if its
// inode belonged to another file before.
[[nodiscard]] Status name_files(const Inputs& inputs, const Listener& listener,
                                report::FragmentedFiles& all);

}  // namespace e4r::app
