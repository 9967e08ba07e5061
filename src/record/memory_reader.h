// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "util/status.h"

namespace e4r::record {

// Reads what the file system mounted at a directory holds only in memory: its preallocations and
// the goals of its streams. Returns the text that captures store as start/memory
// (docs/capture-format.md). Nothing may allocate meanwhile: freeze the file system.
using ReadMemory = std::function<Result<std::string>(const std::string& mount_point)>;

// Loads the BPF program that reads the memory (bpf/memory.bpf.c). `dev` is the file system's
// device. The Error names what is missing: support in this build, permission, or a kernel (5.19 or
// later) with BTF.
[[nodiscard]] Result<ReadMemory> load_memory_reader(std::uint32_t dev);

}  // namespace e4r::record
