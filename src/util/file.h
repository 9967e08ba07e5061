// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/output.h"
#include "util/status.h"

namespace e4r {

// The whole of a small file.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// The first line of an attribute in sysfs or procfs, without its newline. Empty if it cannot be
// read.
[[nodiscard]] std::string read_attribute(const std::string& path);

// Writes `text` as an output (util/output.h). The name "-" is standard output.
[[nodiscard]] Status write_output(const std::string& text, const OutputName& name);

}  // namespace e4r
