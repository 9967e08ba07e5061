// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <e4replay/allocator.h>
#include <e4replay/export.h>
#include <e4replay/listener.h>
#include <e4replay/recording.h>
#include <e4replay/report.h>
#include <e4replay/result.h>

namespace e4replay {

struct ReplayOptions {
  std::vector<std::string> policies = {};  // names, "kernel:FILE" or "FILE.so"; empty: the recorded
                                           // kernel's and its neighbours
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool force = false;    // answer although the model does not follow the recorded kernel
  bool check = false;    // verify the allocator's invariants on the way
  unsigned threads = 0;  // policies replayed at once; 0: one per CPU
};

// What other policies would have made of a recording: `e4replay replay`. Errors: an unknown policy;
// a setting that is none; a recording that the model does not follow, unless `force`; a kernel that
// ended; "stopped".
//
// The functions of this header may be called from several threads at once, also with one Recording.
[[nodiscard]] E4REPLAY_API Result<Report> replay(const Recording& recording,
                                                 const ReplayOptions& options = {},
                                                 const Listener& listener = {});

struct VerifyOptions {
  std::string policy = {};                 // empty: the recorded kernel's
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool free_run = false;                   // tell of the run that decides alone to the end
  bool check = false;                      // as in ReplayOptions
  unsigned threads = 0;
};

// Whether a policy decides as the recorded kernel did: `e4replay verify`. Errors: an unknown
// policy; a setting that is none; a recording without closed decisions; "stopped".
[[nodiscard]] E4REPLAY_API Result<Report> verify(const Recording& recording,
                                                 const VerifyOptions& options = {},
                                                 const Listener& listener = {});

// One request of a replay, and what the policy made of it. What the recorded kernel did in one
// decision may take a replay several requests, or none when the blocks were handed out before.
struct ReplayedDecision {
  std::uint64_t number = 0;   // of the recorded decision, among the closed ones, from 1
  std::uint64_t event = 0;    // of its request in the recording, from 1
  std::uint64_t ino = 0;      // for which blocks were asked
  std::uint32_t logical = 0;  // block of the file where they belong
  std::uint32_t asked = 0;    // clusters
  Decision decision;
};
// Called after each request, in their order, on the thread of the call. Returns false to stop the
// replay. It must not throw.
using DecisionVisitor = std::function<bool(const ReplayedDecision& decision)>;

// A recording that has been followed once, so that each of its points costs one replay: what
// `e4replay sweep` is made of. Cheap to copy; point() may be called from several threads at once.
class Sweep {
 public:
  // Errors: as of replay(). The Sweep keeps a copy of the listener, whose `progress` is told of the
  // points as well.
  [[nodiscard]] E4REPLAY_API static Result<Sweep> follow(const Recording& recording,
                                                         bool force = false,
                                                         const Listener& listener = {});
  E4REPLAY_API Sweep(const Sweep&);
  E4REPLAY_API Sweep(Sweep&&) noexcept;
  E4REPLAY_API Sweep& operator=(const Sweep&);
  E4REPLAY_API Sweep& operator=(Sweep&&) noexcept;
  E4REPLAY_API ~Sweep();

  // Replays under a policy with settings. The report has one column.
  [[nodiscard]] E4REPLAY_API Result<Report> point(
      const std::string& policy, const std::vector<std::string>& settings = {}) const;
  // The same, and tells of each request. Errors: "stopped", when `visit` says so.
  [[nodiscard]] E4REPLAY_API Result<Report> decisions(const std::string& policy,
                                                      const std::vector<std::string>& settings,
                                                      const DecisionVisitor& visit) const;

 private:
  friend class Access;
  struct Data;
  explicit Sweep(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

}  // namespace e4replay
