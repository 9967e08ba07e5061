// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>

namespace e4r::record {

// The ELF object that clang compiled from inputs.bpf.c. The build generates the definition
// (cmake/embed.cmake).
extern const unsigned char kInputsObject[];
extern const std::size_t kInputsObjectBytes;

}  // namespace e4r::record
