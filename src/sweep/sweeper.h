// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "app/verification.h"
#include "results/rows.h"
#include "sweep/manifest.h"
#include "sweep/plan.h"
#include "sweep/ranking.h"
#include "sweep/store.h"

// Opens and follows the captures of a sweep.
namespace e4r::sweep {

// A capture with the data that its points share.
class OpenCapture {
 public:
  // Reads the image, the trace and the tunables recorded with it. `sets_cpus` says whether the
  // sweep sets possible_cpus.
  [[nodiscard]] static Result<std::unique_ptr<OpenCapture>> open(const app::CaptureName& name,
                                                                 bool sets_cpus, unsigned threads,
                                                                 const app::Listener& listener);
  OpenCapture(const OpenCapture&) = delete;
  OpenCapture& operator=(const OpenCapture&) = delete;

  // Follows the recorded kernel, once for all points. Returns the Error of check_fidelity() unless
  // `force` is set. Warns about what the result means for the policies.
  [[nodiscard]] Status follow(bool force, std::span<const allocator::Policy* const> policies);

  [[nodiscard]] const CaptureId& id() const { return id_; }
  // The Subject has no session before follow().
  [[nodiscard]] Subject subject() const;

 private:
  OpenCapture(app::Inputs inputs, const app::Listener& listener);

  app::Inputs inputs_;
  app::Listener listener_;
  CaptureId id_;
  bool followed_ = false;
  app::FollowedRecording recording_;
};

// Runs `e4replay sweep`: replays the requested points that are not finished yet, and stores them in
// a directory if one is given.

struct SweepOptions {
  std::string program;    // name, version and commit, for the manifest
  std::string directory;  // directory for the results; empty to keep them in memory
  bool resume = false;    // continue with the content of the directory
  bool force = false;     // give results even if the model does not follow a recorded kernel
  unsigned threads = 0;   // 0: one per CPU
};

class Sweeper {
 public:
  // Opens the captures of the plan and reads the directory without changing it. `metric` orders the
  // directory's summary. Errors: an input that cannot be read or does not fit; the errors of
  // Store::look().
  [[nodiscard]] static Result<std::unique_ptr<Sweeper>> open(SweepOptions options, Plan plan,
                                                             const PointRange& range,
                                                             const results::Row& metric,
                                                             const app::Listener& listener);
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  // All finished points; at first, those found in the directory.
  [[nodiscard]] const Finished& finished() const { return store_ ? store_->finished() : memory_; }
  [[nodiscard]] std::uint64_t left() const { return range_.count() - finished().count; }

  // Follows each capture that has points to run. Errors: as for check_fidelity(), unless `force` is
  // set.
  [[nodiscard]] Status follow();
  // Runs the missing points. Writes the directory's files once all points are finished. If `stop`
  // is set before that, a sweep with --resume can continue later. Errors: the errors of a replay or
  // of the directory.
  [[nodiscard]] Status run(const std::atomic<bool>& stop);
  // The figures of all points. Valid once all points are finished.
  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  Sweeper(SweepOptions options, Plan plan, const PointRange& range, const results::Row& metric,
          const app::Listener& listener);
  Status open_captures();
  Status look();
  [[nodiscard]] std::vector<std::size_t> missing() const;
  Status add(std::size_t index, std::string line);

  const SweepOptions options_;
  Plan plan_;
  const PointRange range_;
  const results::Row& metric_;
  const app::Listener listener_;
  std::vector<std::unique_ptr<OpenCapture>> captures_;
  std::vector<Subject> subjects_;  // by capture
  std::string manifest_;
  std::mutex mutex_;  // guards the members below
  std::optional<Store> store_;
  Finished memory_;  // used without a store
  Figures figures_;
  std::uint64_t before_ = 0;  // points found in the directory
  std::chrono::steady_clock::time_point began_;
};

}  // namespace e4r::sweep
