// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "allocator/model.h"
#include "replay/modes.h"
#include "replay/order_search.h"
#include "replay/warm_start.h"
#include "watch/backlog.h"
#include "watch/check.h"
#include "watch/figures.h"
#include "watch/flight.h"

namespace e4r::watch {

// A file system at the moment of a start image, and the policies that decide from then on.
struct StartPoint {
  const state::Source& source;  // must outlive the follower
  std::string image_path;       // for reopening the image
  allocator::Tunables tunables;
  const replay::Checkpoint* memory = nullptr;  // what the kernel held in memory, if that was read
  replay::WarmStart warm = {};                 // Pursuit deduces it
  const allocator::Policy* policy = nullptr;   // the running kernel's policy
  std::vector<const allocator::Policy*> shadows = {};  // policies that decide the same requests
  std::optional<FlightRecorder::Limits> keep = {};     // what to keep of the last minutes
};

// A request of the kernel whose search took many steps.
struct CostlyRequest {
  std::uint64_t time_ns = 0;  // by the trace's clock
  std::uint32_t pid = 0;
  std::uint64_t ino = 0;
  std::uint32_t clusters = 0;                        // number of clusters asked for
  replay::SearchCost cost;                           // according to the model, which counts groups
  mb::Criterion criterion = mb::Criterion::unknown;  // the criterion that ended the search
  [[nodiscard]] std::uint64_t groups() const { return cost.groups.value_or(0); }
  [[nodiscard]] std::uint64_t steps() const { return cost.steps(); }
};

// The figures of one run.
struct Column {
  std::string name;  // "recorded", or the shadow's policy
  const allocator::Policy* policy = nullptr;
  std::array<std::optional<results::Outcome>, kWindows.size()> windows;  // by Window

  std::vector<Rates> rates;       // of the last seconds, oldest first
  GroupHistogram::Counts groups;  // since the start image

  [[nodiscard]] const std::optional<results::Outcome>& of(Window window) const {
    return windows[static_cast<std::size_t>(window)];
  }
};

// The figures of a follower at one moment.
struct Picture {
  std::uint64_t followed_ns = 0;  // by the trace's clock: all earlier events have been followed
  std::uint64_t decisions = 0;    // since the start image
  std::uint64_t identical = 0;    // how many of these the model decided in the same way
  std::string last_difference;    // describes the last differing decision whose details were kept
  std::uint64_t checks = 0;       // comparisons with mb_groups so far
  std::optional<GroupsCheck> check;   // the last one
  std::vector<Column> columns;        // the recorded kernel first
  std::vector<CostlyRequest> costly;  // of the last minute; requests with the most steps come first
  std::vector<stats::SpaceCell> map;  // the recorded file system's free space, at most kMapCells
  std::uint32_t cluster_bits = 0;     // for the map
  static constexpr std::size_t kMapCells = 1024;
  std::vector<std::string> dropped;  // shadows that no longer decide, and why
};

// Follows a live kernel from a start image on. Shadows are policies that decide the same requests
// at the same time. One thread runs the follower. Other threads may call only the functions marked
// for them.
class Follower {
 public:
  // Why run() ended.
  enum class End : std::uint8_t {
    over,         // the backlog ended
    stopped,      // Backlog::stop() was called
    learn_again,  // a decision differed, and there are enough events now to deduce more
    events_lost,  // the kernel dropped events
    failed,       // the model or the source failed; see why()
  };

  // Makes the model and the shadows' engines. A shadow whose kernel does not start is dropped.
  [[nodiscard]] static std::unique_ptr<Follower> create(const StartPoint& start);

  // Follows all events of the backlog until it ends. From event number `learn_at` on, any
  // difference ends the run, even an earlier one: a decision that differs, or a group that differs
  // in a comparison. The backlog keeps its events until it has `most_kept` bytes; after that,
  // `learn_at` has no effect.
  [[nodiscard]] End run(Backlog& backlog, std::uint64_t learn_at, std::uint64_t most_kept);
  [[nodiscard]] const std::string& why() const { return why_; }
  // The order of the kernel's lists, as far as decisions have revealed it.
  [[nodiscard]] const std::vector<replay::WarmStart::Precedence>& learnt() const {
    return follow_->learnt();
  }
  [[nodiscard]] const replay::Engine& recorded() const { return *follow_; }
  // The engine of a shadow, or null if it was dropped.
  [[nodiscard]] const replay::Engine* shadow(std::size_t index) const {
    return shadows_[index].engine.get();
  }

  // ---- Other threads may call these.

  // ask() asks for a new picture. picture() returns the latest one, or null before the first.
  void ask() { asked_ = true; }
  [[nodiscard]] std::shared_ptr<const Picture> picture() const;
  // All events before this time, by the trace's clock, have been followed.
  [[nodiscard]] std::uint64_t followed_ns() const { return time_ns_; }
  // Null if no events are kept.
  [[nodiscard]] const FlightRecorder* flight() const { return flight_.get(); }
  // Drops the shadows and records the reason.
  void shed(const std::string& why);
  // begin_check() must be called before mb_groups is read, and end_check() after that. Only one
  // reading may be in progress.
  void begin_check(std::uint64_t before_ns);
  void end_check(KernelGroups kernel);

 private:
  struct Shadow {
    const allocator::Policy* policy = nullptr;
    std::unique_ptr<replay::WhatIf> engine;
  };
  // Figures that need a pass over all groups and files.
  struct Slow {
    stats::SettledFree free;
    stats::FileFragmentation files;
    stats::FileLayoutScore layout;
  };

  explicit Follower(const StartPoint& start) : start_(start) {}
  void make();
  [[nodiscard]] Result<std::unique_ptr<replay::WhatIf>> make_shadow(
      const allocator::Policy& policy) const;

  [[nodiscard]] Status take(const replay::Op& op);
  void let_shadows_decide();
  [[nodiscard]] Status between(Backlog& backlog, std::optional<std::uint64_t> until_ns,
                               bool holds_back);
  [[nodiscard]] bool may_learn() const { return keeps_ && ordinal_ >= learn_at_; }
  void pass_time(std::uint64_t time_ns, bool holds_back = false);
  void compare_if_due(std::uint64_t time_ns);
  void drop(std::size_t shadow, const std::string& why);
  void note_dropped(const allocator::Policy& policy, const std::string& why);
  void drop_if_shed();
  [[nodiscard]] std::vector<results::Outcome> counts() const;
  void publish();
  void look_slowly();

  StartPoint start_;
  allocator::Model* model_ = nullptr;  // the model of `follow_`
  std::unique_ptr<replay::OrderSearch> follow_;
  std::unique_ptr<FlightRecorder> flight_;
  std::vector<Shadow> shadows_;
  std::vector<std::string> dropped_;
  Samples samples_;
  std::vector<Slow> slow_;  // by column
  std::vector<stats::SpaceCell> map_;
  double slow_cost_s_ = 0;        // how long the last pass took
  std::uint64_t slow_at_ns_ = 0;  // when it began, by the machine's clock
  std::atomic<std::uint64_t> time_ns_{0};
  std::uint64_t ordinal_ = 0;
  std::uint64_t learn_at_ = UINT64_MAX, most_kept_ = 0;
  bool keeps_ = true;
  bool lost_ = false;  // the kernel has dropped events
  std::uint64_t steps_ = 0;
  std::uint64_t last_divergence_ = 0;
  std::string last_difference_;
  std::optional<End> ends_;
  std::string why_;
  std::vector<bool> unexplained_;  // result of find_unexplained()
  std::optional<GroupsComparison> comparison_;
  std::optional<GroupsCheck> checked_;
  std::uint64_t checks_ = 0;

  std::atomic<bool> asked_{false}, checking_{false};
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const Picture> picture_;
  std::optional<std::string> shed_;
  std::optional<std::uint64_t> check_before_ns_;
  std::optional<KernelGroups> kernel_groups_;
};

}  // namespace e4r::watch
