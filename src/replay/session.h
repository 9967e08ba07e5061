// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "replay/engine.h"
#include "replay/input_table.h"
#include "trace/packed.h"

namespace e4r::replay {

struct Setup;
// Makes the decider of one replay. `warm`: null when the file system was mounted a moment ago.
using DeciderMaker = std::function<Result<std::unique_ptr<allocator::Decider>>(
    const Setup& setup, const WarmStart* warm)>;

// One policy with its tunables.
struct Setup {
  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  Watch watch = nullptr;  // as in EngineOptions
  std::uint64_t watch_every = 1;
  std::vector<std::uint64_t> explain = {};  // as in EngineOptions
  bool log = false;                         // likewise
  std::vector<std::uint64_t> write_down = {};
  DeciderMaker make = nullptr;  // empty: the policy's model decides. Not to follow with
};

// An engine that has run, and how long it took.
struct Run {
  std::unique_ptr<Engine> engine;
  double ready_s = 0;    // until the first event: who decides was made, a kernel was booted
  double elapsed_s = 0;  // in all
};

struct SessionOptions {
  unsigned threads = 0;           // policies replayed at once; 0: one per CPU
  std::optional<WarmStart> warm;  // of a file system with a past
  std::string release;            // of the recorded kernel, as `uname -r`; empty: not known
  bool check = false;             // verify the state's invariants on the way
  std::function<void(const char* what, std::uint64_t events)> progress;  // any thread; may be empty
};

// Whether a policy of this project models the kernel that made the trace.
[[nodiscard]] bool is_modelled(const trace::TraceSummary& trace);

// A start state and a trace, and the replays made of them. `source` must outlive the session and
// its runs.
class Session {
 public:
  Session(const state::Source& source, trace::PackedTrace trace, SessionOptions options)
      : source_(source), trace_(std::move(trace)), options_(std::move(options)) {}

  // Follows the recorded kernel from event to event and works out the inputs of each decision that
  // the trace does not carry. Must come before the others.
  [[nodiscard]] Result<Run> follow(const Setup& recorded);
  // The same under the policy of the recorded kernel, whatever the setup's is; legacy when no
  // policy models that kernel. Where the trace alone does not tell the policy, under the one that
  // follows more of its decisions; of those that follow equally well, the one that stands for the
  // release.
  [[nodiscard]] Result<Run> follow_recorded(Setup recorded);

  // Lets the setup decide alone from start to end and compares with the trace.
  [[nodiscard]] Result<Run> free_run(const Setup& setup);

  // Replays under one setup. May be called from several threads at once.
  [[nodiscard]] Result<Run> what_if(const Setup& setup) const;
  // Replays under each setup, in threads; the runs come in the order of the setups.
  [[nodiscard]] Result<std::vector<Run>> what_if(const std::vector<Setup>& setups) const;

  [[nodiscard]] const trace::PackedTrace& trace() const { return trace_; }
  // As follow() has completed it; null without one.
  [[nodiscard]] const WarmStart* warm() const { return options_.warm ? &*options_.warm : nullptr; }

 private:
  [[nodiscard]] Result<Run> follow_learning(const Setup& recorded);
  // Makes the driver and runs it; `inputs`: for those that take them.
  template <class Driver, class... Inputs>
  [[nodiscard]] Result<Run> run(const Setup& setup, const Inputs&... inputs) const;

  const state::Source& source_;
  trace::PackedTrace trace_;
  SessionOptions options_;
  InputTable inputs_;
};

}  // namespace e4r::replay
