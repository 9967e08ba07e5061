// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/engine.h"
#include "replay/intake.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// How an engine came through a trace.
struct LockstepEnd {
  Status status;
  double seconds = 0;  // of the engine's own work
};

// Takes engines through one trace. Reads a batch of operations once; each engine, in the order of
// `engines`, does these before the next batch is read. Each result is the one that the engine gives
// alone. If an engine fails, the others go on. All engines must take the operations in the order of
// `ops` (Engine::schedule). `wanted`: asked now and then whether an engine is to go on; if not, it
// ends with the Error "stopped". May be empty.
[[nodiscard]] std::vector<LockstepEnd> run_in_lockstep(
    OpReader& ops, std::span<Engine* const> engines,
    const std::function<bool(const Engine&)>& wanted = nullptr);

// A replay with several writers, each of which the caller advances. A writer's operations (those on
// its files, see writer_of) keep their recorded order. Operations of two writers come in any order.
// An operation without a file, such as a commit, takes effect when the first writer passes it.
class SideBySide {
 public:
  // `ops` and everything that `engine` refers to must outlive the object. `writers`: at least 1,
  // and the number that the engine was made for.
  SideBySide(const OpList& ops, std::unique_ptr<Engine> engine, unsigned writers);

  // The number of the decision of the writer's next request in the trace, from 1. Empty if the
  // writer has no request left; then its remaining operations are done.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next(unsigned writer);
  // Does what the writer did before that request, such as frees. Afterwards the engine's
  // LockOperations cover this alone. The Error is the decider's.
  [[nodiscard]] Status prepare(unsigned writer);
  // Prepares the request if nobody did, then serves it on a CPU (by default the recorded one) while
  // other CPUs hold `held`. Afterwards the engine's LockOperations cover this request alone, one
  // entry for each request that it needed. The Error is the decider's.
  [[nodiscard]] Status serve(unsigned writer, std::optional<std::uint16_t> cpu = {},
                             const allocator::HeldLocks* held = nullptr);
  // Ends the replay after the last request.
  [[nodiscard]] Status finish() { return engine_->finish(); }

  [[nodiscard]] const Engine& engine() const { return *engine_; }

 private:
  struct Turn {
    std::size_t op;
    std::uint64_t decision;  // 0: no request
  };
  struct Writer {
    std::vector<Turn> turns;
    std::size_t next = 0;
  };
  // Does the writer's next operation, after the operations without a file that are recorded before
  // it.
  [[nodiscard]] Status do_next(Writer& writer);

  const OpList& ops_;
  std::unique_ptr<Engine> engine_;
  LockOperations* locks_;  // of the engine; null if nobody asked for them
  std::vector<Writer> writers_;
  std::vector<std::size_t> shared_;  // operations of no file
  std::size_t next_shared_ = 0;
};

}  // namespace e4r::replay
