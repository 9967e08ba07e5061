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
  // Each is a policy's name, "kernel:FILE" or "FILE.so". If empty: the recorded kernel's policy and
  // similar ones.
  std::vector<std::string> policies = {};
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool force = false;    // report even if the model does not follow the recorded kernel
  bool check = false;    // verify the allocator's invariants during the replay
  unsigned threads = 0;  // policies replayed at once; 0: one per CPU
};

// Replays a recording under other policies, as `e4replay replay` does. Errors: an unknown policy;
// an invalid setting; a recording that the model does not follow, unless `force`; with a policy
// "kernel:FILE", a kernel that has ended; "stopped" if Listener::progress returned false.
//
// Several threads may call the functions of this header at once, even with one Recording.
[[nodiscard]] E4REPLAY_API Result<Report> replay(const Recording& recording,
                                                 const ReplayOptions& options = {},
                                                 const Listener& listener = {});

struct VerifyOptions {
  std::string policy = {};                 // empty: the policy of the recorded kernel
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool free_run = false;                   // report on a run that keeps the model's decisions
  bool check = false;                      // as in ReplayOptions
  unsigned threads = 0;
};

// Compares the decisions of a policy with those of the recorded kernel, as `e4replay verify` does.
// Errors: an unknown policy; an invalid setting; a recording without closed decisions (a decision
// is closed if the trace contains its outcome); "stopped" if Listener::progress returned false.
[[nodiscard]] E4REPLAY_API Result<Report> verify(const Recording& recording,
                                                 const VerifyOptions& options = {},
                                                 const Listener& listener = {});

// One request of a replay and the policy's decision. One decision of the recorded kernel may take
// several requests in a replay, or none if its blocks were already handed out.
struct ReplayedDecision {
  std::uint64_t number = 0;   // number of the recorded decision among the closed ones, from 1
  std::uint64_t event = 0;    // number of its request event in the recording, from 1
  std::uint64_t ino = 0;      // the inode that asked for blocks
  std::uint32_t logical = 0;  // first file block of the clusters
  std::uint32_t asked = 0;    // clusters requested
  Decision decision;
};
// Called after each request, in order, on the calling thread. Return false to stop the replay. Must
// not throw.
using DecisionVisitor = std::function<bool(const ReplayedDecision& decision)>;

// A recording that the model has already followed. Each point (a policy and its settings) then
// costs only one replay. `e4replay sweep` uses this class. Cheap to copy. Several threads may call
// point() at once.
class Sweep {
 public:
  // Errors: as for replay(). The Sweep keeps a copy of the listener and also reports the progress
  // of points to it.
  [[nodiscard]] E4REPLAY_API static Result<Sweep> follow(const Recording& recording,
                                                         bool force = false,
                                                         const Listener& listener = {});
  E4REPLAY_API Sweep(const Sweep&);
  E4REPLAY_API Sweep(Sweep&&) noexcept;
  E4REPLAY_API Sweep& operator=(const Sweep&);
  E4REPLAY_API Sweep& operator=(Sweep&&) noexcept;
  E4REPLAY_API ~Sweep();

  // Replays under a policy with the given settings. The report has one column.
  [[nodiscard]] E4REPLAY_API Result<Report> point(
      const std::string& policy, const std::vector<std::string>& settings = {}) const;
  // Like point(), but calls `visit` for each request. Error: "stopped" when `visit` returns false.
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
