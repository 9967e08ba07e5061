// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/tunables.h"
#include "replay/watch.h"
#include "util/status.h"

namespace e4r::allocator {
class Decider;
struct Policy;
}  // namespace e4r::allocator
namespace e4r::state {
struct Source;
}
namespace e4r::trace {
class PackedTrace;
struct TraceSummary;
}  // namespace e4r::trace

namespace e4r::replay {

class Engine;
class SideBySide;
struct Setup;
struct WarmStart;
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
  bool rows = false;                        // likewise
  // Likewise, and not to follow with.
  bool locks = false;
  unsigned writers = 1;
  std::vector<std::uint64_t> write_down = {};
  DecisionWatch decided = nullptr;
  DeciderMaker make = nullptr;  // empty: the policy's model decides. Not to follow with
};

// An engine that has run, and how long it took.
struct Run {
  Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  std::unique_ptr<Engine> engine;
  double ready_s = 0;    // until the first event: who decides was made, a kernel was booted
  double elapsed_s = 0;  // in all
};

// A run that follows, and one beside it that decides alone, each as it is without the other.
struct Followed {
  Run run;
  std::optional<Run> alone;
};

struct SessionOptions {
  unsigned threads = 0;                   // policies replayed at once; 0: one per CPU
  std::shared_ptr<const WarmStart> warm;  // of a file system with a past; null: it has none
  std::string release;                    // of the recorded kernel, as `uname -r`; empty: not known
  bool check = false;                     // verify the state's invariants on the way
  // How far a policy's run is. False: it ends with the Error "stopped". Any thread; may be empty.
  std::function<bool(std::string_view policy, std::uint64_t events)> progress;
};

// Whether a policy of this project models the kernel that made the trace.
[[nodiscard]] bool is_modelled(const trace::TraceSummary& trace);

// A start state and a trace, and the replays made of them. `source` must outlive the session and
// its runs.
class Session {
 public:
  Session(const state::Source& source, trace::PackedTrace trace, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Follows the recorded kernel from event to event and works out the inputs of each decision that
  // the trace does not carry. Must come before the others.
  [[nodiscard]] Result<Run> follow(const Setup& recorded);
  // The same under the policy of the recorded kernel, whatever the setup's is; legacy when no
  // policy models that kernel. Where the trace alone does not tell the policy, under the one that
  // follows more of its decisions; of those that follow equally well, the one that stands for the
  // release.
  [[nodiscard]] Result<Run> follow_recorded(Setup recorded);

  // The same as follow_recorded(), or as follow() when the setup has a policy. The setup with that
  // policy is let decide alone, as free_run() does, while the trace is read: `alone` is there
  // unless what it needs of a decision was only known later, or it failed.
  [[nodiscard]] Result<Followed> follow_beside_alone(const Setup& setup);

  // Lets the setup decide alone from start to end and compares with the trace.
  [[nodiscard]] Result<Run> free_run(const Setup& setup);

  // Replays under one setup. May be called from several threads at once.
  [[nodiscard]] Result<Run> what_if(const Setup& setup) const;
  // The same under each setup, on the caller's thread: the trace is read once for all of them, and
  // each run takes what its own work takes. The results come in the order of the setups.
  [[nodiscard]] std::vector<Result<Run>> what_if_in_lockstep(std::span<const Setup> setups) const;
  // How many of `setups` to give to each call of it, when `threads` threads make these calls: more
  // take less time in all, and more memory. 1 when one has a decider of its own, which may be a
  // process.
  [[nodiscard]] std::size_t in_lockstep(std::span<const Setup> setups, unsigned threads) const;
  // Replays under each setup, in threads; the runs come in the order of the setups.
  [[nodiscard]] Result<std::vector<Run>> what_if(const std::vector<Setup>& setups) const;

  // Begins a replay in which the setup's writers are as far as the caller says. The session must
  // outlive it.
  [[nodiscard]] Result<SideBySide> side_by_side(const Setup& setup);

  [[nodiscard]] const trace::PackedTrace& trace() const;
  // As follow() has completed it; null without one.
  [[nodiscard]] const WarmStart* warm() const;

 private:
  class Replays;
  std::unique_ptr<Replays> replays_;
};

}  // namespace e4r::replay
