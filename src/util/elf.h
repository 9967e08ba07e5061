// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r {

// Whether a 64-bit program or library has been cut short: the file is shorter than the part to
// load, or even than its headers. A program that maps such a file ends with SIGBUS. What is not an
// ELF file, or a 32-bit one, is not cut.
[[nodiscard]] bool is_cut_elf(std::string_view bytes);

}  // namespace e4r
