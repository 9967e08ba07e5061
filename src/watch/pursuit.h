// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "watch/backlog.h"
#include "watch/follower.h"

namespace e4r::watch {

// The policies to try, and limits.
struct PursuitOptions {
  std::vector<const allocator::Policy*> kernel;   // policies that the running kernel may have
  std::vector<const allocator::Policy*> shadows;  // policies that decide the same requests
  std::uint64_t first_ns = 1'000'000'000;         // the first attempt begins after this time
  std::uint64_t most_kept = 64 << 20;             // bytes of events that are kept to learn from
};

// Follows a live kernel from one start image, in a thread of its own. Makes as many attempts as
// needed to learn what the file system held in memory. Each attempt begins at the start image.
class Pursuit {
 public:
  // Begins at once. The objects to which `start` refers must outlive this object.
  Pursuit(StartPoint start, std::vector<state::MbGroup> groups, PursuitOptions options);
  Pursuit(const Pursuit&) = delete;
  Pursuit& operator=(const Pursuit&) = delete;
  // Stops the thread.
  ~Pursuit();

  [[nodiscard]] Backlog& backlog() { return backlog_; }
  // Waits until all events have been followed. Call Backlog::end() first.
  void finish();

  // Whether the thread has ended by itself. why() says why; it is empty if the backlog had ended.
  [[nodiscard]] bool has_ended() const { return ended_; }
  [[nodiscard]] std::string why() const;
  // Whether it ended because the kernel had dropped events.
  [[nodiscard]] bool events_were_lost() const { return events_lost_; }

  // The current attempt, or null before the first; and the number of attempts.
  [[nodiscard]] std::shared_ptr<Follower> follower() const;
  [[nodiscard]] unsigned attempts() const { return attempts_; }

 private:
  void pursue();
  [[nodiscard]] Status attempt(bool& again);
  void choose_answers();
  void note_wrong_answer(const replay::Agreement& agreement);
  void wait_for_events() const;
  [[nodiscard]] const allocator::Policy* choose_policy() const;
  void end(const std::string& why);

  struct Tried {
    const allocator::Policy* policy;
    double identical = -1;  // share of the decisions; negative if the policy was not tried
  };

  StartPoint start_;
  std::vector<state::MbGroup> groups_;
  PursuitOptions options_;
  std::vector<Tried> tried_;
  std::vector<replay::WarmStart::Precedence> learnt_;
  // Assumed places of preallocations that proved wrong: a decision in the group differed. The
  // places are assumed because only the group's counters show these preallocations.
  std::map<std::uint32_t, std::vector<std::vector<ClusterRange>>> wrong_answers_;  // by group
  Backlog backlog_;
  std::atomic<bool> ended_{false}, stopped_{false}, events_lost_{false};
  std::atomic<unsigned> attempts_{0};
  mutable std::mutex mutex_;  // guards the next two members
  std::shared_ptr<Follower> follower_;
  std::string why_;
  std::thread thread_;
};

}  // namespace e4r::watch
