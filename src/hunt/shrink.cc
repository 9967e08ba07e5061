// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/shrink.h"

#include <algorithm>

namespace e4r::hunt {
namespace {

// Tries smaller cases one after another, and keeps those that are still bad enough.
class Shrinker {
 public:
  Shrinker(const Space& space, Starts& starts, const SearchOptions& options, const Found& found,
           std::uint64_t most, const SearchTold& told)
      : space_(space),
        starts_(starts),
        options_(options),
        told_(told),
        most_(most),
        enough_(found.trial.score * 3 / 4) {
    best_.levels = found.levels;
    best_.trial = found.trial;
  }

  Result<Shrunk> run() {
    const Candidate candidate = space_.candidate(best_.levels);
    E4R_TRY(auto start, starts_.make(candidate.origin));
    best_.scene = scene_of(candidate, std::move(start));
    E4R_CHECK(shrink_parameters());
    E4R_CHECK(shrink_operations());
    return std::move(best_);
  }

 private:
  // Returns whether the scene is still bad enough. If so, it becomes the best case.
  Result<bool> keeps(Scene scene, const Levels& levels) {
    ++best_.trials;
    told_(best_.trials, &best_.trial);
    if (stop_asked()) return error("stopped");
    E4R_TRY(auto trial, try_scene(scene, options_));
    if (!trial || trial->score < enough_) return false;
    best_.levels = levels;
    best_.scene = std::move(scene);
    best_.trial = *std::move(trial);
    return true;
  }

  Result<bool> keeps(const Levels& levels) {
    const Candidate candidate = space_.candidate(levels);
    auto start = best_.scene.start;
    if (candidate.origin != space_.candidate(best_.levels).origin) {
      E4R_TRY(start, starts_.make(candidate.origin));
      if (!start) return false;
    }
    return keeps(scene_of(candidate, std::move(start)), levels);
  }

  [[nodiscard]] bool may_go_on() const {
    return best_.trials < most_ && !(options_.enough && options_.enough());
  }

  // Tries the plain value, and otherwise bisects between a value that is too plain and the best
  // one.
  Status shrink_parameter(std::size_t index) {
    for (std::uint32_t low = 0; low < best_.levels[index] && may_go_on();) {
      Levels levels = best_.levels;
      levels[index] = low == 0 && !plain_tried_[index] ? 0 : (low + best_.levels[index]) / 2;
      plain_tried_[index] = true;
      E4R_TRY(const bool kept, keeps(levels));
      if (!kept) low = levels[index] + 1;
    }
    return {};
  }

  // Repeats while it helps, since a change of one parameter may allow a plainer value of another.
  Status shrink_parameters() {
    for (bool again = true; again && may_go_on();) {
      const Levels before = best_.levels;
      plain_tried_.assign(before.size(), false);
      for (std::size_t i = 0; i < before.size(); ++i) E4R_CHECK(shrink_parameter(i));
      again = best_.levels != before;
    }
    return {};
  }

  Status shrink_operations() {
    std::size_t piece = best_.scene.operations.size() / 2;
    while (piece > 0 && may_go_on()) {
      bool kept = false;
      for (std::size_t at = 0; at < best_.scene.operations.size() && may_go_on();) {
        Scene scene = best_.scene;
        const auto from = scene.operations.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(piece, scene.operations.size() - at);
        scene.operations.erase(from, from + static_cast<std::ptrdiff_t>(count));
        E4R_TRY(const bool good, keeps(std::move(scene), best_.levels));
        kept = kept || good;
        if (!good) at += piece;
      }
      if (!kept || piece > best_.scene.operations.size()) piece /= 2;
    }
    return {};
  }

  const Space& space_;
  Starts& starts_;
  const SearchOptions& options_;
  const SearchTold& told_;
  const std::uint64_t most_;
  const double enough_;
  std::vector<bool> plain_tried_;
  Shrunk best_;
};

}  // namespace

Result<Shrunk> shrink(const Space& space, Starts& starts, const SearchOptions& options,
                      const Found& found, std::uint64_t most, const SearchTold& told) {
  return Shrinker(space, starts, options, found, most, told).run();
}

}  // namespace e4r::hunt
