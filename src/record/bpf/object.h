// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>

namespace e4r::record {

// inputs.bpf.c as clang has compiled it: an ELF file. The build makes its source
// (cmake/embed.cmake).
extern const unsigned char kInputsObject[];
extern const std::size_t kInputsObjectBytes;

}  // namespace e4r::record
