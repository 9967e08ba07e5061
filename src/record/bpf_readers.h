// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "record/bpf/messages.h"
#include "record/merger.h"
#include "util/status.h"

namespace e4r::record {

// A BPF program in the running kernel. It reads inputs of allocations that the kernel's events do
// not print (bpf/inputs.bpf.c). The kernel unloads it when this object is destroyed or the process
// ends.
class InputReader {
 public:
  // `dev` is the file system's device. The Error names what is missing: support in this build,
  // permission, a kernel with BTF, or a clock that BPF programs can read (mono or boot).
  [[nodiscard]] static Result<std::unique_ptr<InputReader>> create(std::uint32_t dev,
                                                                   TraceClock clock);
  virtual ~InputReader() = default;

  using Sink = std::function<void(const e4r_input&)>;
  // Passes the inputs since the last call to `sink`. Inputs that did not fit in the buffer are
  // lost.
  [[nodiscard]] virtual Status read(const Sink& sink) = 0;
};

// Reads what the file system mounted at a directory holds only in memory: its preallocations and
// the goals of its streams. Returns the text that captures store as start/memory
// (docs/capture-format.md). Nothing may allocate meanwhile: freeze the file system.
using ReadMemory = std::function<Result<std::string>(const std::string& mount_point)>;

// Loads the BPF program that reads the memory (bpf/memory.bpf.c). `dev` is the file system's
// device. The Error names what is missing: support in this build, permission, or a kernel (5.19 or
// later) with BTF.
[[nodiscard]] Result<ReadMemory> load_memory_reader(std::uint32_t dev);

}  // namespace e4r::record
