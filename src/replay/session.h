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

// A finished engine and its time.
struct Run {
  Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  std::unique_ptr<Engine> engine;
  double ready_s = 0;    // until the first event: to make the decider, such as to boot a kernel
  double elapsed_s = 0;  // in all
};

// A run that follows, and one beside it that decides alone. Each is as it would be without the
// other.
struct Followed {
  Run run;
  std::optional<Run> alone;
};

// What is known of a recording beside its trace, and who hears of progress.
struct SessionOptions {
  std::shared_ptr<const WarmStart> warm;  // of a file system with a past; null otherwise
  std::string release;                    // of the recorded kernel, as `uname -r`; empty: unknown
  // Called with a policy's progress, from any thread. Returning false ends the run with the Error
  // "stopped". May be empty.
  std::function<bool(std::string_view policy, std::uint64_t events)> progress;
};

// Whether a policy of this project models the kernel that made the trace.
[[nodiscard]] bool is_modelled(const trace::TraceSummary& trace);

// A start state, a trace, and the replays of them. `source` must outlive the session and its runs.
class Session {
 public:
  Session(const state::Source& source, trace::PackedTrace trace, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Follows the recorded kernel event by event, and works out the inputs of each decision that the
  // trace does not carry. Must run before the other replays.
  [[nodiscard]] Result<Run> follow(const Setup& recorded);
  // Follows under the policy of the recorded kernel, whatever the setup's policy is, or under
  // legacy if no policy models that kernel. If the trace alone does not tell the policy, the policy
  // that follows most decisions wins; among equals, the one that stands for the release.
  [[nodiscard]] Result<Run> follow_recorded(Setup recorded);

  // Follows as follow_recorded() does, or as follow() does if the setup has a policy. While it
  // reads the trace, the same policy also decides alone, as in free_run(). `alone` is missing if a
  // decision needed something that only later events showed, or if the run failed.
  [[nodiscard]] Result<Followed> follow_beside_alone(const Setup& setup);

  // Follows once more under the policy that was followed, in the order that was found.
  [[nodiscard]] Result<Run> follow_again(const Setup& setup) const;

  // Lets the setup decide alone from start to end and compares with the trace.
  [[nodiscard]] Result<Run> free_run(const Setup& setup);

  // Replays under one setup. Several threads may call it at once.
  [[nodiscard]] Result<Run> what_if(const Setup& setup) const;
  // Replays under each setup on the caller's thread. The trace is read once for all of them. The
  // results have the order of the setups.
  [[nodiscard]] std::vector<Result<Run>> what_if_in_lockstep(std::span<const Setup> setups) const;
  // How many of `setups` to pass to each call when `threads` threads make the calls. More take less
  // time in all, and more memory. Returns 1 if a setup has a decider of its own, which may be a
  // process.
  [[nodiscard]] std::size_t in_lockstep(std::span<const Setup> setups, unsigned threads) const;
  // Replays under each setup, in so many threads (0: one per CPU). The runs have the order of the
  // setups.
  [[nodiscard]] Result<std::vector<Run>> what_if(const std::vector<Setup>& setups,
                                                 unsigned threads) const;

  // Replays under the setup in the order that was found (number 0), and then with all overlapping
  // allocations at random moments between request and closing event, in so many other orders. Calls
  // see(number, run) for each, from any of the threads. Calls nothing if no allocations overlap.
  [[nodiscard]] Status in_other_orders(
      const Setup& setup, std::size_t orders, unsigned threads,
      const std::function<void(std::size_t number, const Run& run)>& see) const;

  // Begins a replay in which the caller advances each of the setup's writers. The session must
  // outlive it.
  [[nodiscard]] Result<SideBySide> side_by_side(const Setup& setup);

  [[nodiscard]] const trace::PackedTrace& trace() const;
  // The policies that may follow this trace and that the recorded release allows, the latest rules
  // first. Empty if the release is unknown or no policy stands for it.
  [[nodiscard]] std::vector<const allocator::Policy*> allowed() const;
  // What follow() completed; null before follow().
  [[nodiscard]] const WarmStart* warm() const;
  // How many groups have early reads (InputTable), as follow() found by agreement.
  [[nodiscard]] std::uint64_t groups_read_early() const;

 private:
  class Replays;
  std::unique_ptr<Replays> replays_;
};

}  // namespace e4r::replay
