// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/comparison.h"

#include <algorithm>
#include <numeric>

#include "app/fidelity.h"
#include "app/file_names.h"
#include "app/recorded_account.h"
#include "app/setups.h"
#include "capture/anonymize.h"
#include "replay/engine.h"
#include "report/fragmented.h"

namespace e4r::app {
namespace {

// Records the groups' free space during a run.
class Watches {
 public:
  explicit Watches(const report::ReplayReport& report) : report_(report) {
    using trace::EventKind;
    decisions_ = report.trace.count(EventKind::mballoc_alloc) +
                 report.trace.count(EventKind::mballoc_prealloc);
  }
  // Records about `frames` frames. A run that starts again, as following may, starts a new history.
  void add(std::uint64_t frames, stats::SpaceHistory& history) {
    watches_.push_back({std::max<std::uint64_t>(decisions_ / frames, 1), &history});
  }
  // The report must outlive the runs.
  void watch_in(replay::Accounts& keep) const {
    if (watches_.empty()) return;
    keep.watch_every = 0;
    for (const One& one : watches_) keep.watch_every = std::gcd(keep.watch_every, one.every);
    keep.watch = [&report = report_, watches = watches_](std::uint64_t decision,
                                                         const state::FsState& state) {
      for (const auto& [every, history] : watches) {
        if (decision % every != 0) continue;
        if (decision == every) *history = stats::SpaceHistory(report.start.free.space.groups);
        history->add(decision, state);
      }
    };
  }

 private:
  struct One {
    std::uint64_t every;  // decisions
    stats::SpaceHistory* history;
  };
  const report::ReplayReport& report_;
  std::uint64_t decisions_ = 0;
  std::vector<One> watches_;
};

constexpr std::uint64_t kPageFrames = 32;
constexpr std::uint64_t kSpaceSteps = 256;

// The number of pieces of each file, by column.
using Pieces = std::vector<std::vector<stats::FilePieces>>;

// Follows the recorded kernel and keeps its results. The recorded free space is the same in each
// pass of the following, whatever the policy.
Status follow(replay::Session& session, const InputOptions& options,
              const ComparisonOptions& wanted, const Inputs& inputs, Comparison& out,
              Pieces& pieces) {
  report::ReplayReport& report = out.report;
  replay::Setup setup = {nullptr, inputs.recorded};
  setup.keep.rows = wanted.rows || !wanted.writers.numbers.empty();
  stats::SpaceHistory history;
  Watches watches(report);
  if (wanted.for_page) watches.add(kPageFrames, history);
  if (wanted.spaces) watches.add(kSpaceSteps, out.spaces.emplace_back());
  watches.watch_in(setup.keep);
  E4R_TRY(replay::Run followed, follow_into(session, std::move(setup), report));
  report.kernel = summarize_recorded(followed, recorded_stats(options, inputs));
  if (report.kernel->run) report.kernel->run->history = std::move(history);
  if (report.kernel->run && wanted.files > 0)
    pieces.push_back(stats::file_pieces(followed.engine->files()));
  out.recorded = followed.engine->take_rows();
  return {};
}

// Explains the decisions with the most steps. Needs extra runs, because these decisions are known
// only at the end.
Status explain_slowest(const replay::Session& session, std::vector<replay::Setup> setups,
                       report::ReplayReport& report) {
  for (std::size_t i = 0; i < setups.size(); ++i) {
    replay::Accounts& keep = setups[i].keep = {};
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      keep.explain.push_back(slow.number);
    std::ranges::sort(keep.explain);
  }
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups));
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      report.runs[i].explained.push_back(runs[i].engine->explanation(slow.number));
  return {};
}

// The request at which the run `log` parts from the `first` one.
results::Parting parting_of(const replay::DecisionLog& first, const replay::DecisionLog& log) {
  results::Parting out;
  out.requests = first.entries().size();
  out.alike = first.alike(log);
  const bool more = out.alike < log.entries().size();
  if (out.alike < out.requests || more)
    out.decision = (more ? log : first).entries()[out.alike].decision;
  return out;
}

// Finds where each run first differs from the first run. Describing both decisions needs extra
// runs, one for each policy, because the request is known only at the end.
Status find_partings(const replay::Session& session, const std::vector<replay::Setup>& setups,
                     const std::vector<replay::Run>& runs, report::ReplayReport& report) {
  std::vector<replay::Setup> again = {setups.front()};
  again.front().keep = {.log = true};
  std::vector<std::size_t> parted;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    results::Parting parting = parting_of(runs.front().engine->log(), runs[i].engine->log());
    parting.from = report.runs.front().policy->name;
    if (parting.decision != 0) {
      parted.push_back(i);
      again.front().keep.write_down.push_back(parting.alike);
      again.push_back(setups[i]);
      again.back().keep = {.log = true, .write_down = {parting.alike}};
    }
    report.runs[i].parting = std::move(parting);
  }
  if (parted.empty()) return {};
  E4R_TRY(const std::vector<replay::Run> told, session.what_if(again));
  for (std::size_t i = 0; i < parted.size(); ++i) {
    results::Parting& parting = *report.runs[parted[i]].parting;
    parting.theirs = told.front().engine->log().text(parting.alike);
    parting.made = told[i + 1].engine->log().text(parting.alike);
  }
  return {};
}

// Makes a setup for each policy, all with the same settings.
Result<std::vector<replay::Setup>> setups_of(const std::vector<const allocator::Policy*>& policies,
                                             const InputOptions& options, const Inputs& inputs,
                                             const Listener& listener) {
  std::vector<replay::Setup> out;
  for (const allocator::Policy* policy : policies) {
    warn_of_cold_kernel(*policy, inputs, listener);
    replay::Setup& setup = out.emplace_back(make_setup(*policy, inputs.recorded, inputs));
    E4R_CHECK(apply_settings(setup.tunables, options.settings));
    if (options.explain != 0) setup.keep.explain = {options.explain};
  }
  return out;
}

}  // namespace

Result<Comparison> compare(const InputOptions& options, const ComparisonOptions& wanted,
                           const Inputs& inputs, const Listener& listener) {
  if (!wanted.writers.numbers.empty() && inputs.capture &&
      capture::is_anonymous(inputs.capture->start()))
    return error(
        "{}: is anonymous, so its times are a count of events: --writers needs a capture with the "
        "times of the recording",
        inputs.capture->path());
  replay::Session session(inputs.source, inputs.trace,
                          session_options(options, inputs, listener.progress));
  Comparison out;
  report::ReplayReport& report = out.report = start_report(options, inputs);
  Pieces pieces;
  E4R_CHECK(follow(session, options, wanted, inputs, out, pieces));
  if (!wanted.force) E4R_CHECK(check_fidelity(report, options, inputs));
  E4R_TRY(
      std::vector<replay::Setup> setups,
      setups_of(wanted.policies.empty() ? with_neighbours(report.recorded_policy) : wanted.policies,
                options, inputs, listener));
  std::vector<stats::SpaceHistory> histories(setups.size());
  if (wanted.spaces) out.spaces.resize(setups.size() + 1);
  for (std::size_t i = 0; i < setups.size(); ++i) {
    setups[i].keep.log = wanted.first_difference;
    setups[i].keep.rows = wanted.rows;
    Watches watches(report);
    if (wanted.for_page) watches.add(kPageFrames, histories[i]);
    if (wanted.spaces) watches.add(kSpaceSteps, out.spaces[i + 1]);
    watches.watch_in(setups[i].keep);
  }
  E4R_TRY(out.runs, session.what_if(setups));
  for (std::size_t i = 0; i < out.runs.size(); ++i) {
    report.runs.push_back(results::outcome_of(out.runs[i]));
    E4R_TRY(report.runs.back().explanation, explained(options, out.runs[i]));
    report.runs.back().history = std::move(histories[i]);
    if (wanted.files > 0) pieces.push_back(stats::file_pieces(out.runs[i].engine->files()));
  }
  if (wanted.first_difference) E4R_CHECK(find_partings(session, setups, out.runs, report));
  if (!wanted.writers.numbers.empty())
    E4R_CHECK(simulate_writers(session, setups, out.recorded, wanted.writers, listener, report));
  if (wanted.for_page) E4R_CHECK(explain_slowest(session, std::move(setups), report));
  if (wanted.files > 0) {
    report.fragmented = report::most_fragmented(pieces, wanted.files);
    E4R_CHECK(name_files(inputs, listener, *report.fragmented));
  }
  listener.progress.wipe();
  warn_of_fidelity(report, listener);
  return out;
}

}  // namespace e4r::app
