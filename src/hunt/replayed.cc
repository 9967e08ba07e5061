// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/replayed.h"

#include <algorithm>

#include "allocator/decision.h"
#include "app/fidelity.h"
#include "app/setups.h"
#include "guest/guest.h"
#include "replay/engine.h"

namespace e4r::hunt {
namespace {

// The blocks that a request got.
struct Placed {
  std::uint64_t decision = 0, block = 0;
  std::uint32_t len = 0;
  friend bool operator==(const Placed&, const Placed&) = default;
};
using Places = std::vector<Placed>;

// The first decision with different places; 0: no decision differs.
std::uint64_t parting_of(const Places& base, const Places& with) {
  const auto [left, right] = std::mismatch(base.begin(), base.end(), with.begin(), with.end());
  if (left != base.end()) return left->decision;
  return right != with.end() ? right->decision : 0;
}

Told told(std::uint64_t decision, const std::vector<replay::Run>& runs) {
  Told out;
  out.decision = decision;
  if (decision == 0) return out;
  for (std::size_t i = 0; i < out.by.size(); ++i) out.by[i] = runs[i].engine->explanation(decision);
  return out;
}

// One run of each setup; fewer if a kernel fails, and then the trial says which one, and how.
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
  report::ReplayReport report = app::start_report(input, inputs);
  replay::Session session(inputs.source, inputs.trace,
                          app::session_options(input, inputs, listener.progress));
  E4R_TRY(const replay::Run followed,
          app::follow_into(session, {nullptr, inputs.recorded}, report));
  std::array<Places, 2> places;
  std::vector<replay::Setup> setups;
  for (const review::Side* side : {&search.base, &search.with}) {
    Places& of = places[setups.size()];
    replay::Setup& setup = setups.emplace_back(make_setup(*side->policy, inputs.recorded, inputs));
    E4R_CHECK(app::apply_settings(setup.tunables, side->settings));
    setup.keep.decided = [&of](const replay::Decided& one) {
      of.push_back({one.decision, one.made.block, one.made.len});
      return true;
    };
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
  const std::uint64_t dearest = slowest.empty() ? 0 : slowest.front().number;
  for (replay::Setup& setup : setups) {
    setup.keep = {};
    for (const std::uint64_t number : {parting, dearest})
      if (number != 0) setup.keep.explain.push_back(number);
    std::ranges::sort(setup.keep.explain);
  }
  E4R_TRY(const std::vector<replay::Run> again, what_if(session, setups, out.trial));
  if (out.trial.has_failed()) return out;
  out.parting = told(parting, again);
  out.dearest = told(dearest, again);
  listener.progress.wipe();
  return out;
}

}  // namespace e4r::hunt
