// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "replay/engine.h"
#include "replay/op_list.h"

namespace e4r::replay {

// A replay in which several writers are at work, each as far as the caller says. A writer's
// operations, those on its files (writer_of), come in their recorded order; those of two
// writers come in any order. What is of no file, such as a commit, comes when the first writer has
// passed it.
class SideBySide {
 public:
  // `ops` and what `engine` was made with must outlive the object. `writers`: at least 1, and those
  // that the engine was made for.
  SideBySide(const OpList& ops, std::unique_ptr<Engine> engine, unsigned writers);

  // The writer's next request: the number of its decision in the trace, from 1. Nothing: it has
  // none left, and has done what came after the last one.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next(unsigned writer);
  // Serves that request on a CPU (the recorded one if none is given) while other CPUs hold `held`,
  // and what the writer did before it. The engine's locks() are of this request alone: one for each
  // that it needed. The Error is the decider's.
  [[nodiscard]] Status serve(unsigned writer, std::optional<std::uint16_t> cpu = {},
                             const allocator::HeldLocks* held = nullptr);
  // After the last one.
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
  // Does the writer's next operation, and before it those of no file that are recorded before it.
  [[nodiscard]] Status do_next(Writer& writer);

  const OpList& ops_;
  std::unique_ptr<Engine> engine_;
  std::vector<Writer> writers_;
  std::vector<std::size_t> shared_;  // operations of no file
  std::size_t next_shared_ = 0;
};

}  // namespace e4r::replay
