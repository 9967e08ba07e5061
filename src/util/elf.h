// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r {

// Whether a program or library of 64 bits has been cut short: it has less than what it says is to
// be loaded of it, or not even its headers. A program that maps such a file ends with SIGBUS. What
// is no ELF file, or one of 32 bits, is not cut.
[[nodiscard]] bool is_cut_elf(std::string_view bytes);

}  // namespace e4r
