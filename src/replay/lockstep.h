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
  double seconds = 0;  // of the engine's own work
};

// Takes engines through one trace. Reads a batch of operations once; each engine, in the order of
// `engines`, does these before the next batch is read. Each result is the one that the engine gives
// alone. If an engine fails, the others go on. All engines must take the operations in the order of
// `ops` (Engine::late). `wanted`: asked now and then whether an engine is to go on; if not, it ends
// with the Error "stopped". May be empty.
[[nodiscard]] std::vector<LockstepEnd> run_in_lockstep(
    OpReader& ops, std::span<Engine* const> engines,
    const std::function<bool(const Engine&)>& wanted = nullptr);

}  // namespace e4r::replay
