// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r {

// The whole of a small file.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// The first line of an attribute in sysfs or procfs, without its newline; empty when it cannot be
// read.
[[nodiscard]] std::string read_attribute(const std::string& path);

// The error that write_output() would end with for what shows beforehand: no such directory, one
// that may not be written to, a directory in the file's place. For who works long before writing.
[[nodiscard]] Status check_output(const std::string& path);

// Writes `text` to `path`, "-" being standard output. A file appears whole or not at all: it is
// written beside its place and renamed.
[[nodiscard]] Status write_output(const std::string& text, const std::string& path);

}  // namespace e4r
