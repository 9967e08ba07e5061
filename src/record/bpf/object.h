// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>

namespace e4r::record {

// The ELF objects that clang compiled from inputs.bpf.c and memory.bpf.c. The build generates the
// definitions (cmake/embed.cmake).
extern const unsigned char kInputsObject[];
extern const std::size_t kInputsObjectBytes;
extern const unsigned char kMemoryObject[];
extern const std::size_t kMemoryObjectBytes;

}  // namespace e4r::record
