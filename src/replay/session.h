// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/setup.h"
#include "util/status.h"

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
struct WarmStart;

// A finished engine and the time that it took.
struct Run {
  Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  std::unique_ptr<Engine> engine;
  double ready_s = 0;    // time to make the decider, for example to boot a kernel
  double elapsed_s = 0;  // total time
};

// Two runs in the same pass over a trace: `run` follows the recorded kernel, `alone` makes its own
// decisions. Neither affects the other.
struct Followed {
  Run run;
  std::optional<Run> alone;
};

// Facts about a recording other than its trace, and the receiver of progress reports.
struct SessionOptions {
  std::shared_ptr<const WarmStart>
      warm;              // set if the file system was in use before the trace; null otherwise
  std::string release;   // release of the recorded kernel, as `uname -r` prints it; empty: unknown
  unsigned threads = 0;  // threads of follow_beside_alone(), which uses at most 2; 0: one per CPU
  // Called with a policy's progress, from any thread. If it returns false, the run ends with the
  // Error "stopped". May be empty.
  std::function<bool(std::string_view policy, std::uint64_t events)> progress;
};

// A start state, a trace, and replays of the trace. `source` must outlive the session and its runs.
class Session {
 public:
  Session(const state::Source& source, trace::PackedTrace trace, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Follows the recorded kernel event by event, and derives the inputs of decisions that the trace
  // does not contain. Must run before the other replays.
  [[nodiscard]] Result<Run> follow(const Setup& recorded);
  // Follows under the policy of the recorded kernel, or under legacy if no policy models that
  // kernel. Ignores the setup's policy. If several policies are possible, chooses the one with the
  // most decisions identical to the recorded ones. Among equally good policies, prefers the one
  // that stands for the release.
  [[nodiscard]] Result<Run> follow_recorded(Setup recorded);

  // Follows as follow_recorded() does, or as follow() does if the setup has a policy. A second run
  // makes its own decisions under the same policy, as in free_run(): in the same pass over the
  // trace unless a decision needs an input or an order that only later events show. `alone` is
  // missing if that run failed.
  [[nodiscard]] Result<Followed> follow_beside_alone(const Setup& setup);

  // Follows again in the order of allocations that follow() found. `setup` must have the policy of
  // that run.
  [[nodiscard]] Result<Run> follow_again(const Setup& setup) const;

  // Runs the setup with its own decisions from start to end, and compares them with the trace.
  [[nodiscard]] Result<Run> free_run(const Setup& setup);

  // Replays under one setup. Several threads may call it at once.
  [[nodiscard]] Result<Run> what_if(const Setup& setup) const;
  // Replays under each setup on the caller's thread. The trace is read once for all of them. The
  // results are in the order of the setups.
  [[nodiscard]] std::vector<Result<Run>> what_if_in_lockstep(std::span<const Setup> setups) const;
  // How many of `setups` to pass to each call of what_if_in_lockstep() if `threads` threads make
  // the calls. Larger calls take less time in total, but more memory. Returns 1 if a setup has its
  // own decider, because the decider may be a process.
  [[nodiscard]] std::size_t in_lockstep(std::span<const Setup> setups, unsigned threads) const;
  // Replays under each setup in `threads` threads (0: one per CPU). The runs are in the order of
  // the setups.
  [[nodiscard]] Result<std::vector<Run>> what_if(const std::vector<Setup>& setups,
                                                 unsigned threads) const;

  // Replays under the setup in the order that was found (number 0), and then in `orders` other
  // orders. In these, each overlapping allocation takes effect at a random moment between its
  // request and its closing event. Calls see(number, run) for each run, from any of the threads.
  // Does nothing if no allocations overlap.
  [[nodiscard]] Status in_other_orders(
      const Setup& setup, std::size_t orders, unsigned threads,
      const std::function<void(std::size_t number, const Run& run)>& see) const;

  // Begins a replay in which the caller advances each of the writers. Their number must be at least
  // 1. The session must outlive the replay.
  [[nodiscard]] Result<SideBySide> side_by_side(Setup setup, unsigned writers);

  [[nodiscard]] const trace::PackedTrace& trace() const;
  // The policies that print events as this trace does and stand for the recorded release, the
  // latest rules first. Empty if the release is unknown or no policy stands for it.
  [[nodiscard]] std::vector<const allocator::Policy*> allowed() const;
  // The warm start as completed by follow(); null before follow().
  [[nodiscard]] const WarmStart* warm() const;
  // The number of groups with early reads (InputTable::early_reads), as follow() inferred them.
  [[nodiscard]] std::uint64_t groups_read_early() const;

 private:
  class Replays;
  std::unique_ptr<Replays> replays_;
};

}  // namespace e4r::replay
