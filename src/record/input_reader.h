// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "record/bpf/input.h"
#include "record/clock.h"
#include "util/status.h"

namespace e4r::record {

// A BPF program of ours in the running kernel that sees what the events of allocations do not print
// (bpf/inputs.bpf.c). It goes with the object, and with the process.
class InputReader {
 public:
  // `dev`: whose allocations. The Error says what is missing: support in this build, permission, a
  // kernel with BTF, a clock that BPF programs can read (mono or boot).
  [[nodiscard]] static Result<std::unique_ptr<InputReader>> create(std::uint32_t dev,
                                                                   TraceClock clock);
  virtual ~InputReader() = default;

  using Sink = std::function<void(const e4r_input&)>;
  // Hands over what has come since the last call. What found no room in between is missing.
  [[nodiscard]] virtual Status read(const Sink& sink) = 0;
};

}  // namespace e4r::record
