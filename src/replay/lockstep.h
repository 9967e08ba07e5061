// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "replay/engine.h"
#include "replay/op_reader.h"

namespace e4r::replay {

// How an engine came through a trace.
struct LockstepEnd {
  Status status;
  double seconds = 0;  // that its own work took
};

// Takes engines through one trace: its operations are read once, some at a time, and each engine
// does these before the next are read. What an engine makes of the trace is what it makes of it
// alone. One that fails goes no further, and the others go on. All engines must take the operations
// in the order in which `ops` has them (Engine::late). They do the same operations one after the
// other, as they stand in `engines`. `wanted`: whether an engine is to go on, asked now and then;
// if not, it ends with the Error "stopped". May be empty.
[[nodiscard]] std::vector<LockstepEnd> run_in_lockstep(
    OpReader& ops, std::span<Engine* const> engines,
    const std::function<bool(const Engine&)>& wanted = nullptr);

}  // namespace e4r::replay
