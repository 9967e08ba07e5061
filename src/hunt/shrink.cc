// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/shrink.h"

#include <algorithm>

#include "allocator/decision.h"
#include "app/setups.h"
#include "app/verification.h"
#include "guest/guest.h"
#include "replay/engine.h"

namespace e4r::hunt {
namespace {

// Tries smaller cases one after the other, and keeps those that are still bad enough.
class Shrinker {
 public:
  Shrinker(const Space& space, Starts& starts, const SearchOptions& options, const Found& found,
           std::uint64_t most, const OnTrial& on_trial)
      : space_(space),
        starts_(starts),
        options_(options),
        on_trial_(on_trial),
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
    on_trial_(best_.trials, &best_.trial);
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

  // Tries the plain value. If that fails, bisects between a value that is too plain and the best
  // value.
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

  // Shrinks all parameters, and repeats while that helps, since a change of one may allow a plainer
  // value of another.
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
  const OnTrial& on_trial_;
  const std::uint64_t most_;
  const double enough_;
  std::vector<bool> plain_tried_;
  Shrunk best_;
};

}  // namespace

Result<Shrunk> shrink(const Space& space, Starts& starts, const SearchOptions& options,
                      const Found& found, std::uint64_t most, const OnTrial& on_trial) {
  return Shrinker(space, starts, options, found, most, on_trial).run();
}

namespace {

// The blocks that a request got.
struct Placed {
  std::uint64_t decision = 0, block = 0;
  std::uint32_t len = 0;
  friend bool operator==(const Placed&, const Placed&) = default;
};
using Places = std::vector<Placed>;

// Returns the number of the first decision with different blocks, or 0 if no decision differs.
std::uint64_t parting_of(const Places& base, const Places& with) {
  const auto [left, right] = std::mismatch(base.begin(), base.end(), with.begin(), with.end());
  if (left != base.end()) return left->decision;
  return right != with.end() ? right->decision : 0;
}

ExplainedDecision explain(std::uint64_t decision, const std::vector<replay::Run>& runs) {
  ExplainedDecision out;
  out.decision = decision;
  if (decision == 0) return out;
  for (std::size_t i = 0; i < out.by.size(); ++i) out.by[i] = app::explanation(runs[i], decision);
  return out;
}

// Makes one run per setup. If a kernel fails, there are fewer runs, and `trial` says which kernel
// failed and how.
Result<std::vector<replay::Run>> what_if(const replay::Session& session,
                                         const std::vector<replay::Setup>& setups, Trial& trial) {
  std::vector<replay::Run> out;
  for (std::size_t i = 0; i < setups.size(); ++i) {
    auto run = session.what_if(setups[i]);
    if (!run.ok()) {
      if (!guest::is_kernels_fault(run.error())) return run.error();
      trial.failed[i] = run.error().message;
      return out;
    }
    out.push_back(*std::move(run));
  }
  return out;
}

}  // namespace

Result<Replayed> replay_case(const std::string& path, const SearchOptions& search,
                             const app::Listener& listener) {
  app::InputOptions input;
  input.image = path;
  E4R_TRY(const app::Inputs inputs, app::open_inputs(input, listener));
  report::ReplayReport report = app::start_report(inputs);
  replay::Session session(inputs.source, inputs.trace,
                          app::session_options(inputs, listener.progress));
  E4R_TRY(const replay::Run followed,
          app::follow_into(session, {nullptr, inputs.recorded}, report));
  std::array<Places, 2> places;
  std::vector<replay::Setup> setups;
  for (const review::Side* side : {&search.base, &search.with}) {
    Places& of = places[setups.size()];
    replay::Setup& setup = setups.emplace_back(make_setup(*side->policy, inputs.recorded, inputs));
    E4R_CHECK(app::apply_settings(setup.tunables, side->settings));
    app::keep_also(setup, [&of](replay::Accounts& accounts) {
      accounts.add<replay::CostProfile>();
      accounts.add<replay::DecisionWatch>([&of](const replay::Decided& one) {
        of.push_back({one.decision, one.made.block, one.made.len});
        return true;
      });
    });
  }
  Replayed out;
  if (report.recorded) {
    out.decisions = report.recorded->requests;
    out.followed = report.recorded->identical;
  }
  E4R_TRY(const std::vector<replay::Run> runs, what_if(session, setups, out.trial));
  if (out.trial.has_failed()) return out;
  out.trial.base = results::outcome_of(runs[0]);
  out.trial.with = results::outcome_of(runs[1]);
  if (!measure(*search.objective, out.trial)) return out;
  const std::uint64_t parting = parting_of(places[0], places[1]);
  const auto slowest = out.trial.with.costs.slowest();
  const std::uint64_t costliest = slowest.empty() ? 0 : slowest.front().number;
  for (replay::Setup& setup : setups) {
    setup.keep = app::explanations_of({parting, costliest});
  }
  E4R_TRY(const std::vector<replay::Run> again, what_if(session, setups, out.trial));
  if (out.trial.has_failed()) return out;
  out.parting = explain(parting, again);
  out.costliest = explain(costliest, again);
  listener.progress.wipe();
  return out;
}

}  // namespace e4r::hunt
