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
#include "replay/modes.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// The result of an engine that runs together with others.
struct LockstepEnd {
  Status status;
  double seconds = 0;  // time of the engine's own work
};

// Runs several engines over one trace. Reads a batch of operations once; each engine, in the order
// of `engines`, processes it before the next batch is read. Each engine gives the same result as if
// it ran alone. If an engine fails, the others continue. All engines must process the operations in
// the order of `ops` (Engine::schedule).
[[nodiscard]] std::vector<LockstepEnd> run_in_lockstep(OpReader& ops,
                                                       std::span<Engine* const> engines);

// The results of run_beside().
struct BesideEnds {
  LockstepEnd follow, alone;
};

// Runs `follow` over a trace and, in another thread and a batch of operations later, `alone`, which
// decides with the inputs that `follow` has found. `found` is the table that `alone` uses. It gets
// the inputs of each batch, and keeps only these. If an input is not settled after its batch
// (Follow::is_settled), `alone` ends with the Error "stopped". If `threads` is 1, both run in the
// caller's thread; 0 stands for one thread per CPU.
[[nodiscard]] BesideEnds run_beside(OpReader& ops, Follow& follow, Engine& alone, InputTable& found,
                                    unsigned threads);

// Assigns the files of the operations to writers, in the order in which they first appear.
[[nodiscard]] std::shared_ptr<const FileWriters> assign_files(const OpList& ops, unsigned writers);

// A replay with several writers, each of which the caller advances. A writer's operations (those on
// its files) keep their recorded order. Operations of different writers may come in
// any order. An operation without a file, such as a commit, takes effect when the first writer
// passes it.
class SideBySide {
 public:
  // `ops` and everything that `engine` refers to must outlive the object. The engine must have been
  // made for these writers (Setup::writers).
  SideBySide(const OpList& ops, std::unique_ptr<Engine> engine, const FileWriters& writers);

  // Returns the decision number, from 1, of the writer's next request in the trace. If the writer
  // has no request left, performs its remaining operations and returns nullopt.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next(unsigned writer);
  // Performs the writer's operations that precede that request, such as frees. Afterwards the
  // engine's LockOperations cover only these. The Error is the decider's.
  [[nodiscard]] Status prepare(unsigned writer);
  // Calls prepare() if the caller has not, then serves the request on a CPU (by default the
  // recorded one) while other CPUs hold the locks `held`. Afterwards the engine's LockOperations
  // cover only this request, with one entry for each allocator request that it needed. The Error is
  // the decider's.
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
  // Performs the writer's next operation, and first the operations without a file that are recorded
  // before it.
  [[nodiscard]] Status do_next(Writer& writer);

  const OpList& ops_;
  std::unique_ptr<Engine> engine_;
  LockOperations* locks_;  // the engine's account; null if it has none
  std::vector<Writer> writers_;
  std::vector<std::size_t> shared_;  // operations without a file
  std::size_t next_shared_ = 0;
};

}  // namespace e4r::replay
