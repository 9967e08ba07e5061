// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "app/causes.h"
#include "app/inputs.h"
#include "app/setups.h"
#include "app/verification.h"
#include "capture/anonymize.h"
#include "replay/engine.h"
#include "replay/search_reasons.h"
#include "replay/side_by_side.h"
#include "report/replay_report.h"
#include "util/rng.h"
#include "util/units.h"

namespace e4r::app {
namespace {

using Stats = std::vector<stats::MbStat>;
using Groups = std::vector<state::MbGroup>;

template <class T>
Result<std::optional<T>> parse_noted(const std::optional<NotedText>& noted,
                                     Result<T> (*parse)(std::string_view)) {
  if (!noted) return std::optional<T>();
  Result<T> parsed = parse(noted->text);
  if (!parsed.ok()) return error("{}: {}", noted->where, parsed.error().message);
  return std::optional<T>(std::move(*parsed));
}

// Subtracts the counts at the start of the capture. The kernel's counts begin at the mount, or when
// counting was switched on, but only the recorded run matters here.
Status take_off_start(const capture::Capture& capture, Stats& stats) {
  const std::string* text = capture.text(capture::text_name::kStartStats);
  if (text == nullptr) return {};
  E4R_TRY(const Stats start, stats::parse_mb_stats(*text));
  for (stats::MbStat& stat : stats)
    for (const stats::MbStat& before : start)
      if (before.name == stat.name) stat.value -= std::min(stat.value, before.value);
  return {};
}

const capture::Capture* capture_of(const Inputs& inputs) {
  return inputs.capture ? &*inputs.capture : nullptr;
}

}  // namespace

std::string doubt_about_end(const Inputs& inputs) {
  const capture::Capture* const capture = capture_of(inputs);
  if (capture == nullptr || (capture->end() != nullptr && capture->end()->quiet)) return {};
  return capture->end() == nullptr ? "the capture is incomplete"
                                   : "mb_stats was read while the file system was written to";
}

Result<std::optional<Groups>> read_kernel_groups(const Inputs& inputs) {
  const InputOptions& options = inputs.options;
  E4R_TRY(const auto found, noted(options.mb_groups, capture_of(inputs),
                                  capture::text_name::kEndGroups, options.trace, "mb_groups"));
  return parse_noted(found, &stats::parse_mb_groups);
}

namespace {

Result<std::optional<NotedText>> find_stats(const Inputs& inputs) {
  return noted(inputs.options.mb_stats, capture_of(inputs), capture::text_name::kEndStats,
               inputs.options.trace, "mb_stats");
}

}  // namespace

Result<std::string> uncounted_stats(const Inputs& inputs) {
  E4R_TRY(const auto found, find_stats(inputs));
  return found && stats::stats_were_off(found->text) ? found->where : std::string();
}

Result<std::optional<Stats>> read_kernel_stats(const Inputs& inputs) {
  E4R_TRY(const auto found, find_stats(inputs));
  E4R_TRY(std::optional<Stats> out, parse_noted(found, &stats::parse_mb_stats));
  if (inputs.capture && out && inputs.options.mb_stats.empty())
    E4R_CHECK(take_off_start(*inputs.capture, *out));
  return out;
}

report::KernelStats recorded_stats(const Inputs& inputs) {
  if (std::string doubt = doubt_about_end(inputs); !doubt.empty()) return {{}, std::move(doubt)};
  Result<std::optional<Stats>> read = read_kernel_stats(inputs);
  if (!read.ok()) return {{}, read.error().message};
  if (!*read) return {{}, "mb_stats was not recorded"};
  return {stats::known_counters(**read), {}};
}

namespace {

// Records the free space of groups during a run.
class FreeSpaceAccount final : public replay::Account {
 public:
  // Records about `frames` frames for a page and `steps` steps for a timeline; 0: none. The report
  // must outlive the run.
  FreeSpaceAccount(const report::ReplayReport& report, std::uint64_t frames, std::uint64_t steps) {
    using trace::EventKind;
    const std::uint64_t decisions = report.trace.count(EventKind::mballoc_alloc) +
                                    report.trace.count(EventKind::mballoc_prealloc);
    const auto one = [&](std::uint64_t times) {
      return One{times == 0 ? 0 : std::max<std::uint64_t>(decisions / times, 1),
                 stats::SpaceHistory(report.start.free.space.groups)};
    };
    page = one(frames);
    timeline = one(steps);
  }

  void done(std::uint64_t decision, const state::FsState& state) override {
    for (One* one : {&page, &timeline})
      if (one->every != 0 && decision % one->every == 0) one->history.add(decision, state);
  }

  struct One {
    std::uint64_t every = 0;  // in decisions
    stats::SpaceHistory history;
  };
  One page, timeline;
};

constexpr std::uint64_t kPageFrames = 32;
constexpr std::uint64_t kSpaceSteps = 256;

// The number of pieces of each file, by column.
using Pieces = std::vector<std::vector<stats::FilePieces>>;

// Adds accounts that record the free space over the course of a run, for a page and for a timeline.
void keep_free_space(const RunSpec& spec, const report::ReplayReport& report,
                     replay::Accounts& accounts) {
  if (spec.for_page || spec.spaces)
    accounts.add<FreeSpaceAccount>(report, spec.for_page ? kPageFrames : 0,
                                   spec.spaces ? kSpaceSteps : 0);
}

// Follows the recorded kernel and keeps its results. The recorded free space is the same in every
// pass and for every policy.
Status follow(replay::Session& session, const RunSpec& spec, const Inputs& inputs, Comparison& out,
              Pieces& pieces) {
  report::ReplayReport& report = out.report;
  replay::Setup setup = {nullptr, inputs.recorded};
  setup.check_every = check_every(spec);
  setup.keep = [&](replay::Accounts& accounts) {
    accounts.add<replay::WriteOrder>();
    if (spec.rows || !spec.writers.empty())
      accounts.add<replay::DecisionRows>(replay::DecisionRows::Of::recorded);
    keep_free_space(spec, report, accounts);
  };
  E4R_TRY(replay::Run followed, follow_into(session, std::move(setup), report));
  // A workload has no column for a recorded kernel: it was not recorded, and the policy that made
  // its requests has its own column.
  if (!inputs.workload) report.kernel = summarize_recorded(followed, recorded_stats(inputs));
  FreeSpaceAccount* const space = followed.engine->find<FreeSpaceAccount>();
  const bool has_column = report.kernel && report.kernel->run;
  if (space != nullptr && has_column) report.kernel->run->history = std::move(space->page.history);
  if (spec.spaces) out.spaces.push_back(std::move(space->timeline.history));
  if (has_column && spec.files > 0) pieces.push_back(stats::file_pieces(followed.engine->files()));
  if (auto* rows = followed.engine->find<replay::DecisionRows>()) out.recorded = std::move(*rows);
  return {};
}

// Explains the decisions with the most steps. Needs extra runs, because these decisions are known
// only at the end.
Status explain_slowest(const replay::Session& session, std::vector<replay::Setup> setups,
                       unsigned threads, report::ReplayReport& report) {
  for (std::size_t i = 0; i < setups.size(); ++i) {
    std::vector<std::uint64_t> decisions;
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      decisions.push_back(slow.number);
    setups[i].keep = explanations_of(std::move(decisions));
  }
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups, threads));
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const replay::CostProfile::Decision& slow : report.runs[i].costs.slowest())
      report.runs[i].explained.push_back(explanation(runs[i], slow.number));
  return {};
}

// Explains one decision of every run. Needs extra runs, because in the main runs another account
// observes the steps.
Status explain_apart(const replay::Session& session, std::vector<replay::Setup> setups,
                     const RunSpec& spec, report::ReplayReport& report) {
  for (replay::Setup& setup : setups) setup.keep = explanations_of({spec.explain});
  E4R_TRY(const std::vector<replay::Run> runs, session.what_if(setups, spec.threads));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    E4R_TRY(report.runs[i].explanation, explained(spec.explain, runs[i]));
  }
  return {};
}

// Returns the request at which the run of `log` diverges from the first run.
results::Parting parting_of(const replay::DecisionLog& first, const replay::DecisionLog& log) {
  results::Parting out;
  out.requests = first.entries().size();
  out.alike = first.alike(log);
  const bool more = out.alike < log.entries().size();
  if (out.alike < out.requests || more)
    out.decision = (more ? log : first).entries()[out.alike].decision;
  return out;
}

// Adds a log that keeps the text of these requests.
replay::AddAccounts log_with(std::vector<std::uint64_t> requests) {
  return [requests = std::move(requests)](replay::Accounts& accounts) {
    accounts.add<replay::DecisionLog>(requests);
  };
}

// Finds where each run first differs from the first run. Describing both decisions needs extra
// runs, one for each policy, because the request is known only at the end.
Status find_partings(const replay::Session& session, const std::vector<replay::Setup>& setups,
                     unsigned threads, const std::vector<replay::Run>& runs,
                     report::ReplayReport& report) {
  const auto log_of = [&](std::size_t i) -> const replay::DecisionLog& {
    return *runs[i].engine->find<replay::DecisionLog>();
  };
  std::vector<replay::Setup> again = {setups.front()};
  std::vector<std::uint64_t> of_first;  // requests of the first run to describe
  std::vector<std::size_t> parted;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    results::Parting parting = parting_of(log_of(0), log_of(i));
    parting.from = report.runs.front().policy->name;
    if (parting.decision != 0) {
      parted.push_back(i);
      of_first.push_back(parting.alike);
      again.push_back(setups[i]);
      again.back().keep = log_with({parting.alike});
    }
    report.runs[i].parting = std::move(parting);
  }
  if (parted.empty()) return {};
  again.front().keep = log_with(std::move(of_first));
  E4R_TRY(const std::vector<replay::Run> reruns, session.what_if(again, threads));
  const auto text = [&](std::size_t run, std::uint64_t entry) {
    return reruns[run].engine->find<replay::DecisionLog>()->text(entry);
  };
  for (std::size_t i = 0; i < parted.size(); ++i) {
    results::Parting& parting = *report.runs[parted[i]].parting;
    parting.theirs = text(0, parting.alike);
    parting.made = text(i + 1, parting.alike);
  }
  return {};
}

// Makes a setup for each policy, all with the same settings and accounts.
Result<std::vector<replay::Setup>> setups_of(const std::vector<const allocator::Policy*>& policies,
                                             const RunSpec& spec, const replay::AddAccounts& keep,
                                             const Inputs& inputs, const Listener& listener) {
  std::vector<replay::Setup> out;
  for (const allocator::Policy* policy : policies) {
    warn_of_cold_kernel(*policy, inputs, listener);
    replay::Setup& setup = out.emplace_back(make_setup(*policy, inputs.recorded, inputs));
    E4R_CHECK(apply_settings(setup.tunables, spec.settings));
    setup.check_every = check_every(spec);
    keep_also(setup, keep);
  }
  return out;
}

}  // namespace

Result<Comparison> compare(const RunSpec& spec, const Inputs& inputs, const Listener& listener) {
  if (!spec.writers.empty() && !spec.pace.think_ns && inputs.workload)
    return error("--workload: a workload has no times: --writers needs --think TIME as well");
  if (!spec.writers.empty() && !spec.pace.think_ns && inputs.capture &&
      capture::is_anonymous(inputs.capture->start()))
    return error(
        "{}: is anonymous, so its times are a count of events: --writers needs a capture with the "
        "times of the recording, or --think TIME",
        inputs.capture->path());
  replay::Session session(inputs.source, inputs.trace, session_options(inputs, listener.progress));
  Comparison out;
  report::ReplayReport& report = out.report = start_report(inputs);
  if (inputs.mount.discard || report.trace.count(trace::EventKind::discard_blocks) > 0)
    report.not_modelled.push_back(
        {"discard",
         "how long blocks stay in use while they are being discarded (discard, FITRIM)"});
  Pieces pieces;
  E4R_CHECK(follow(session, spec, inputs, out, pieces));
  if (!spec.force) E4R_CHECK(check_fidelity(report, inputs));
  const bool causes = spec.causes || spec.for_page;
  const auto keep = [&](replay::Accounts& accounts) {
    if (causes)
      accounts.add<replay::SearchReasons>();
    else if (spec.explain != 0)
      explanations_of({spec.explain})(accounts);
    if (spec.first_difference) accounts.add<replay::DecisionLog>();
    if (spec.rows) accounts.add<replay::DecisionRows>();
    if (spec.for_page) accounts.add<replay::CostProfile>();
    keep_free_space(spec, report, accounts);
  };
  E4R_TRY(std::vector<replay::Setup> setups,
          setups_of(spec.policies.empty() ? with_neighbours(report.recorded_policy) : spec.policies,
                    spec, keep, inputs, listener));
  E4R_TRY(out.runs, session.what_if(setups, spec.threads));
  for (std::size_t i = 0; i < out.runs.size(); ++i) {
    report.runs.push_back(results::outcome_of(out.runs[i]));
    if (!causes) {
      E4R_TRY(report.runs.back().explanation, explained(spec.explain, out.runs[i]));
    }
    if (auto* space = out.runs[i].engine->find<FreeSpaceAccount>()) {
      report.runs.back().history = std::move(space->page.history);
      if (spec.spaces) out.spaces.push_back(std::move(space->timeline.history));
    }
    if (spec.files > 0) pieces.push_back(stats::file_pieces(out.runs[i].engine->files()));
  }
  if (setups.size() > 1) {
    E4R_TRY(report.orders,
            replay_other_orders(session, inputs, report.recorded_policy, spec.threads));
  }
  if (causes) find_causes(out.runs, report);
  if (causes && spec.explain != 0) E4R_CHECK(explain_apart(session, setups, spec, report));
  if (spec.first_difference)
    E4R_CHECK(find_partings(session, setups, spec.threads, out.runs, report));
  if (!spec.writers.empty())
    E4R_CHECK(simulate_writers(session, setups, out.recorded, spec, listener, report));
  if (spec.for_page) E4R_CHECK(explain_slowest(session, std::move(setups), spec.threads, report));
  if (spec.files > 0) {
    report.fragmented = report::most_fragmented(pieces, spec.files);
    E4R_CHECK(name_files(inputs, listener, *report.fragmented));
  }
  listener.progress.wipe();
  warn_of_fidelity(report, listener);
  return out;
}

namespace {

constexpr unsigned kMostWriters = 1024;  // also the limit on CPUs
constexpr std::uint64_t kLongestPauseNs = 86'400'000'000'000;

// Parses a number from 1 to kMostWriters.
std::optional<unsigned> number_of(std::string_view text) {
  const auto value = parse_u64(text);
  if (!value.ok() || *value == 0 || *value > kMostWriters) return std::nullopt;
  return static_cast<unsigned>(*value);
}

// Caps unusually long pauses, such as that of a commit, and spreads the excess over all pauses,
// because such a pause would delay all writers equally. The sum stays the same.
void deal_out(std::vector<std::uint64_t*>& pauses) {
  constexpr std::uint64_t kLong = 10;  // in units of the median
  if (pauses.empty()) return;
  std::vector<std::uint64_t> sorted;
  sorted.reserve(pauses.size());
  for (const std::uint64_t* ns : pauses) sorted.push_back(*ns);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const std::uint64_t most = std::max<std::uint64_t>(*middle * kLong, 1);
  std::uint64_t excess = 0;
  for (std::uint64_t* ns : pauses)
    if (*ns > most) excess += std::exchange(*ns, most) - most;
  std::size_t left = pauses.size();
  for (std::uint64_t* ns : pauses) {
    const std::uint64_t part = excess / left--;
    *ns += part;
    excess -= part;
  }
}

// Applies deal_out() to the pauses of nearby requests, separately for pauses within a file and
// pauses before another file.
void deal_out_pauses(Thinking& thinking) {
  constexpr std::size_t kAround = 1024;  // requests
  for (std::size_t from = 0; from < thinking.ns.size(); from += kAround) {
    const std::size_t end = std::min(from + kAround, thinking.ns.size());
    for (const bool same_inode : {true, false}) {
      std::vector<std::uint64_t*> pauses;
      for (std::size_t i = from; i < end; ++i)
        if (thinking.same_inode[i] == same_inode) pauses.push_back(&thinking.ns[i]);
      deal_out(pauses);
    }
  }
}

// Randomises each time between 0.5 and 1.5 times its value, because times on a real machine vary.
// With equal think times, writers would collide only once: a writer that has waited once stays
// later than the others.
void vary(std::vector<std::uint64_t>& think_ns) {
  constexpr std::uint64_t kSeed = 1;
  Rng rng(kSeed);
  for (std::uint64_t& ns : think_ns) ns = rng.between(ns / 2, ns / 2 + ns);
}

// Serves the writers' requests with a replay.
class Replayed : public contention::Requests {
 public:
  // `think_ns` holds the pause before each decision, indexed by decision number. `replay` and
  // `think_ns` must outlive the object.
  Replayed(replay::SideBySide& replay, const std::vector<std::uint64_t>& think_ns, unsigned writers)
      : replay_(replay), think_ns_(think_ns), freeing_ns_(writers) {}

  // The recorded pause includes the time of frees. The time that frees take in the replay is known
  // only when they are done, so it is subtracted from the next pause.
  Result<std::optional<std::uint64_t>> think_ns(unsigned writer) override {
    E4R_TRY(const std::optional<std::uint64_t> decision, replay_.next(writer));
    if (!decision) return std::optional<std::uint64_t>();
    const std::uint64_t pause = *decision < think_ns_.size() ? think_ns_[*decision] : 0;
    const std::uint64_t freed = std::min(pause, freeing_ns_[writer]);
    freeing_ns_[writer] -= freed;
    return std::optional(pause - freed);
  }
  Result<const allocator::LockNotes*> prepare(unsigned writer) override {
    E4R_CHECK(replay_.prepare(writer));
    const allocator::LockNotes& notes = replay_.engine().find<replay::LockOperations>()->notes();
    for (std::size_t i = 0; i < notes.size(); ++i) freeing_ns_[writer] += notes[i].ns;
    return &notes;
  }
  Result<contention::Served> serve(unsigned writer, unsigned cpu,
                                   const allocator::HeldLocks& held) override {
    const std::uint64_t before = replay_.engine().counters().groups_left;
    E4R_CHECK(replay_.serve(writer, static_cast<std::uint16_t>(cpu), &held));
    return contention::Served{&replay_.engine().find<replay::LockOperations>()->notes(),
                              replay_.engine().counters().groups_left - before};
  }

 private:
  replay::SideBySide& replay_;
  const std::vector<std::uint64_t>& think_ns_;
  std::vector<std::uint64_t>
      freeing_ns_;  // by writer: time of frees not yet subtracted from a pause
};

}  // namespace

Result<std::vector<unsigned>> parse_writers(std::string_view text) {
  std::vector<unsigned> out;
  std::istringstream numbers{std::string(text)};
  for (std::string number; std::getline(numbers, number, ',');) {
    const auto value = number_of(number);
    if (!value)
      return error("--writers: '{}' is not a number of writers from 1 to {}", number, kMostWriters);
    out.push_back(*value);
  }
  if (out.empty()) return error("--writers needs numbers of writers, such as 1,2,4");
  return out;
}

Result<unsigned> parse_cpus(std::string_view text) {
  const auto value = number_of(text);
  if (!value) return error("--cpus: '{}' is not a number of CPUs from 1 to {}", text, kMostWriters);
  return *value;
}

Result<std::uint64_t> parse_think(std::string_view text) {
  const auto pause = parse_pause(text);
  if (!pause.ok()) return error("--think: {}", pause.error().message);
  return static_cast<std::uint64_t>(pause->count());
}

Result<double> parse_think_scale(std::string_view text) {
  constexpr double kMost = 1e6;
  double value = 0;
  const auto [at, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || at != text.data() + text.size() || !(value >= 0 && value <= kMost))
    return error("--think-scale: '{}' is not a factor from 0 to 1,000,000, such as 0.1", text);
  return value;
}

Thinking measure_thinking(const replay::DecisionRows& recorded) {
  Thinking out;
  std::vector<const replay::DecisionRow*> by_time;
  std::uint64_t most = 0;
  for (const replay::DecisionRow& row : recorded.all()) {
    by_time.push_back(&row);
    most = std::max(most, row.decision);
  }
  out.ns.resize(most + 1);
  out.same_inode.resize(most + 1);
  std::ranges::stable_sort(by_time, {}, [](const auto* row) { return row->time_ns; });
  std::uint64_t since = by_time.empty() ? 0 : by_time.front()->time_ns;
  std::uint64_t ino = 0;  // of the previous request
  for (const replay::DecisionRow* row : by_time) {
    out.same_inode[row->decision] = std::exchange(ino, row->ino) == row->ino;
    out.tick_ns = std::gcd(out.tick_ns, row->time_ns);
    if (row->time_ns >= since)
      out.ns[row->decision] = std::min(row->time_ns - since, kLongestPauseNs);
    else
      ++out.overlapping;
    since = std::max({since, row->time_ns, row->answered_ns});
  }
  return out;
}

std::vector<std::uint64_t> pauses_of(Thinking thinking, const contention::Pace& pace) {
  if (pace.think_ns) {
    std::ranges::fill(thinking.ns, *pace.think_ns);
  } else {
    deal_out_pauses(thinking);
    for (std::uint64_t& ns : thinking.ns)
      ns = static_cast<std::uint64_t>(std::min(std::round(static_cast<double>(ns) * pace.scale),
                                               static_cast<double>(kLongestPauseNs)));
  }
  vary(thinking.ns);
  return std::move(thinking.ns);
}

namespace {

// Warns about doubtful recorded pauses.
void warn_of_pauses(const Thinking& thinking, const replay::DecisionRows& recorded,
                    const Listener& listener) {
  // A few overlaps are tolerated, because writeback may run concurrently with a single writer.
  constexpr std::uint64_t kFew = 20;  // one in this many requests
  if (thinking.overlapping > recorded.all().size() / kFew)
    listener.warn(fmt::format(
        "--writers: {} of {} recorded requests came while others were served: several writers were "
        "at work, and one simulated writer is as fast as all of them",
        thinking.overlapping, recorded.all().size()));
  constexpr std::uint64_t kCoarseNs = 100'000;
  if (thinking.tick_ns >= kCoarseNs)
    listener.warn(fmt::format(
        "--writers: the trace's clock ticks every {} ms, so each pause between requests is taken "
        "for the mean of its kind: record with trace_clock mono",
        static_cast<double>(thinking.tick_ns) / 1e6));
}

}  // namespace

// Runs one replay at a time: a timed kernel needs the processor for itself.
Status simulate_writers(replay::Session& session, std::span<const replay::Setup> setups,
                        const replay::DecisionRows& recorded, const RunSpec& spec,
                        const Listener& listener, report::ReplayReport& report) {
  Thinking thinking = measure_thinking(recorded);
  if (!spec.pace.think_ns) warn_of_pauses(thinking, recorded, listener);
  const std::vector<std::uint64_t> pauses = pauses_of(std::move(thinking), spec.pace);
  report.pace = spec.pace;
  for (std::size_t i = 0; i < setups.size(); ++i) {
    replay::Setup setup = setups[i];
    setup.keep = [](replay::Accounts& accounts) { accounts.add<replay::LockOperations>(true); };
    for (const unsigned writers : spec.writers) {
      listener.progress.show(fmt::format("{}: {} writers", setup.policy->name, writers));
      const unsigned cpus = spec.cpus == 0 ? writers : spec.cpus;
      E4R_TRY(replay::SideBySide replay, session.side_by_side(setup, writers));
      Replayed requests(replay, pauses, writers);
      E4R_TRY(contention::SimulationOutcome outcome,
              contention::simulate(requests, writers, {.cpus = cpus}));
      E4R_CHECK(replay.finish());
      if (outcome.deadlocked)
        return error("{}: {} writers would deadlock on its locks", setup.policy->name, writers);
      results::Outcome& simulated =
          report.runs[i].by_writers.emplace_back(results::outcome_of(replay.engine()));
      simulated.tally.requests = outcome.requests;
      simulated.writers = std::move(outcome);
    }
  }
  return {};
}

}  // namespace e4r::app
