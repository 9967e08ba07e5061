// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/search.h"

#include <nlopt.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "util/parallel.h"

namespace e4r::hunt {
namespace {

// The number of parallel searches. It is independent of the number of threads, because the result
// depends on it.
constexpr std::size_t kIslands = 4;

struct Closed {
  void operator()(nlopt_opt opt) const { nlopt_destroy(opt); }
};
using Optimizer = std::unique_ptr<std::remove_pointer_t<nlopt_opt>, Closed>;

// State shared by all searches.
struct Shared {
  const Space& space;
  Starts& starts;
  const SearchOptions& options;
  const OnTrial& on_trial;
  std::atomic<bool> stopped = false;  // all searches must end because one was stopped or has failed
  std::mutex mutex = {};              // guards the members below
  std::uint64_t trials = 0;
  std::optional<Trial> worst = std::nullopt;
};

// One search.
class Island {
 public:
  Island(Shared& shared, std::uint64_t trials) : shared_(shared), most_(trials) {}

  Status run(std::uint64_t seed) {
    const Stoppable stoppable(stop_of(shared_.options));
    const auto dimensions = static_cast<unsigned>(shared_.space.parameters().size());
    optimizer_.reset(nlopt_create(NLOPT_GN_CRS2_LM, dimensions));
    if (!optimizer_) return error("NLopt has no memory for {} dimensions", dimensions);
    nlopt_srand(seed);  // seeds only this thread
    nlopt_set_lower_bounds1(optimizer_.get(), 0);
    nlopt_set_upper_bounds1(optimizer_.get(), 1);
    nlopt_set_max_objective(optimizer_.get(), &Island::value, this);
    // Repeated candidates cost no trials, so an optimizer that finds no new candidate would never
    // end. Limit its evaluations.
    nlopt_set_maxeval(optimizer_.get(),
                      static_cast<int>(std::min<std::uint64_t>(most_ * 20, 1 << 30)));
    std::vector<double> point(dimensions, 0.5);
    double best = 0;
    const nlopt_result ended = nlopt_optimize(optimizer_.get(), point.data(), &best);
    if (failed_) return *failed_;
    if (ended < 0 && ended != NLOPT_FORCED_STOP && ended != NLOPT_ROUNDOFF_LIMITED)
      return error("NLopt: {}", nlopt_result_to_string(ended));
    return {};
  }

  [[nodiscard]] const std::optional<Found>& best() const { return best_; }
  [[nodiscard]] const SearchTally& tally() const { return tally_; }

 private:
  static double value(unsigned dimensions, const double* point, double*, void* island) {
    return static_cast<Island*>(island)->value_of({point, dimensions});
  }

  double value_of(std::span<const double> point) {
    // NLopt completes its first population even if it is asked to stop earlier.
    if (nlopt_get_force_stop(optimizer_.get()) != 0) return kNoScore;
    if (shared_.stopped) return stop();
    if (stop_asked()) return fail(error("stopped"));
    const Levels levels = shared_.space.levels(point);
    const auto known = known_.find(levels);
    if (known != known_.end()) return known->second;
    const auto& enough = shared_.options.enough;
    if (tally_.trials == most_ || (enough && enough())) return stop();
    auto tried = attempt(levels);
    if (!tried.ok()) return fail(std::move(tried).error());
    ++tally_.trials;
    const double score = count(levels, *std::move(tried));
    known_.emplace(levels, score);
    tell();
    return score == kWorstScore ? stop() : score;
  }

  Result<std::optional<Trial>> attempt(const Levels& levels) {
    const Candidate candidate = shared_.space.candidate(levels);
    if (!made_ || candidate.origin != origin_) {
      E4R_TRY(start_, shared_.starts.make(candidate.origin));
      origin_ = candidate.origin;
      made_ = true;
    }
    if (!start_) return std::optional<Trial>();
    return try_scene(scene_of(candidate, start_), shared_.options);
  }

  double count(const Levels& levels, std::optional<Trial> trial) {
    if (!trial) {
      ++tally_.impossible;
      return kNoScore;
    }
    const double score = trial->score;
    for (std::size_t side = 0; side < trial->failed.size(); ++side)
      if (!trial->failed[side].empty()) ++tally_.failed[side];
    if (!trial->failed[0].empty()) {
      if (tally_.base_failure.empty()) tally_.base_failure = trial->failed[0];
      return score;
    }
    if (trial->alike) ++tally_.alike;
    if (score > 0) ++tally_.worse;
    if (score < 0) ++tally_.better;
    if (score > 0 && (!best_ || score > best_->trial.score))
      best_ = Found{levels, *std::move(trial)};
    return score;
  }

  void tell() {
    const std::scoped_lock lock(shared_.mutex);
    ++shared_.trials;
    if (best_ && (!shared_.worst || best_->trial.score > shared_.worst->score))
      shared_.worst = best_->trial;
    shared_.on_trial(shared_.trials, shared_.worst ? &*shared_.worst : nullptr);
  }

  double fail(Error why) {
    failed_ = std::move(why);
    shared_.stopped = true;
    return stop();
  }

  double stop() {
    nlopt_force_stop(optimizer_.get());
    return kNoScore;
  }

  Shared& shared_;
  const std::uint64_t most_;
  Optimizer optimizer_;
  std::map<Levels, double> known_;
  bool made_ = false;  // whether origin_ and start_ are set
  Origin origin_;
  std::shared_ptr<const Start> start_;  // made from origin_; null if that cannot be made
  std::optional<Found> best_;
  SearchTally tally_;
  std::optional<Error> failed_;
};

}  // namespace

Status check_search() {
  return {};
}

Result<SearchResult> search(const Space& space, Starts& starts, const SearchOptions& options,
                            const OnTrial& on_trial) {
  Shared shared{space, starts, options, on_trial};
  std::vector<std::unique_ptr<Island>> islands;
  for (std::size_t i = 0; i < kIslands; ++i)
    islands.push_back(std::make_unique<Island>(
        shared, options.trials / kIslands + (i < options.trials % kIslands ? 1 : 0)));
  std::vector<Status> ended(kIslands);
  parallel_for(thread_count(options.threads), kIslands,
               [&](std::size_t i) { ended[i] = islands[i]->run(options.seed * kIslands + i); });
  for (const Status& status : ended) E4R_CHECK(status);
  SearchResult out;
  for (const auto& island : islands) {
    const SearchTally& tally = island->tally();
    out.tally.trials += tally.trials;
    out.tally.worse += tally.worse;
    out.tally.better += tally.better;
    out.tally.alike += tally.alike;
    out.tally.impossible += tally.impossible;
    for (std::size_t side = 0; side < tally.failed.size(); ++side)
      out.tally.failed[side] += tally.failed[side];
    if (out.tally.base_failure.empty()) out.tally.base_failure = tally.base_failure;
    const auto& best = island->best();
    if (best && (!out.best || best->trial.score > out.best->trial.score)) out.best = *best;
  }
  return out;
}

}  // namespace e4r::hunt
