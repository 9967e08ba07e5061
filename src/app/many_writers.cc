// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/many_writers.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "app/setups.h"
#include "replay/side_by_side.h"
#include "util/rng.h"
#include "util/units.h"

namespace e4r::app {
namespace {

constexpr unsigned kMostWriters = 1024;  // also the most CPUs
constexpr std::uint64_t kLongestPauseNs = 86'400'000'000'000;

// Parses a number from 1 to kMostWriters.
std::optional<unsigned> number_of(std::string_view text) {
  const auto value = parse_u64(text);
  if (!value.ok() || *value == 0 || *value > kMostWriters) return std::nullopt;
  return static_cast<unsigned>(*value);
}

// Caps unusually long pauses, such as that of a commit, and spreads the excess over the other
// pauses: such a pause holds up all writers alike. The sum stays the same.
void deal_out(std::vector<std::uint64_t*>& pauses) {
  constexpr std::uint64_t kLong = 10;  // times the median
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

// Spreads pauses among nearby requests, separately for pauses within a file and before another
// file.
void deal_out_pauses(Thinking& thinking) {
  constexpr std::size_t kAround = 1024;  // requests
  for (std::size_t from = 0; from < thinking.ns.size(); from += kAround) {
    const std::size_t end = std::min(from + kAround, thinking.ns.size());
    for (const bool goes_on : {true, false}) {
      std::vector<std::uint64_t*> pauses;
      for (std::size_t i = from; i < end; ++i)
        if (thinking.goes_on[i] == goes_on) pauses.push_back(&thinking.ns[i]);
      deal_out(pauses);
    }
  }
}

// Makes each time random, between half and one and a half of itself. Writers with equal think times
// would collide only once, because the one that waited stays behind the other. Times on a real
// machine vary.
void vary(std::vector<std::uint64_t>& think_ns) {
  constexpr std::uint64_t kSeed = 1;
  Rng rng(kSeed);
  for (std::uint64_t& ns : think_ns) ns = rng.between(ns / 2, ns / 2 + ns);
}

// Serves the writers' requests with a replay.
class Replayed : public contention::Requests {
 public:
  // `think_ns` holds the pause before each decision, by its number. Both must outlive the object.
  Replayed(replay::SideBySide& replay, const std::vector<std::uint64_t>& think_ns)
      : replay_(replay), think_ns_(think_ns) {}

  Result<std::optional<std::uint64_t>> think_ns(unsigned writer) override {
    E4R_TRY(const std::optional<std::uint64_t> decision, replay_.next(writer));
    if (!decision) return std::optional<std::uint64_t>();
    return std::optional(*decision < think_ns_.size() ? think_ns_[*decision] : 0);
  }
  Result<contention::Served> serve(unsigned writer, unsigned cpu,
                                   const allocator::HeldLocks& held) override {
    const std::uint64_t before = replay_.engine().counters().groups_left;
    E4R_CHECK(replay_.serve(writer, static_cast<std::uint16_t>(cpu), &held));
    return contention::Served{&replay_.engine().locks(),
                              replay_.engine().counters().groups_left - before};
  }

 private:
  replay::SideBySide& replay_;
  const std::vector<std::uint64_t>& think_ns_;
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

Thinking thinking_of(const replay::DecisionRows& recorded) {
  Thinking out;
  std::vector<const replay::DecisionRow*> by_time;
  std::uint64_t most = 0;
  for (const replay::DecisionRow& row : recorded.all()) {
    by_time.push_back(&row);
    most = std::max(most, row.decision);
  }
  out.ns.resize(most + 1);
  out.goes_on.resize(most + 1);
  std::ranges::stable_sort(by_time, {}, [](const auto* row) { return row->time_ns; });
  std::uint64_t since = by_time.empty() ? 0 : by_time.front()->time_ns;
  std::uint64_t ino = 0;  // of the previous request
  for (const replay::DecisionRow* row : by_time) {
    out.goes_on[row->decision] = std::exchange(ino, row->ino) == row->ino;
    out.tick_ns = std::gcd(out.tick_ns, row->time_ns);
    if (row->time_ns >= since)
      out.ns[row->decision] = std::min(row->time_ns - since, kLongestPauseNs);
    else
      ++out.overlapping;
    since = std::max({since, row->time_ns, row->answered_ns});
  }
  return out;
}

// Runs one replay at a time: a timed kernel needs the processor for itself.
Status simulate_writers(replay::Session& session, std::span<const replay::Setup> setups,
                        const replay::DecisionRows& recorded, const WriterOptions& options,
                        const Listener& listener, report::ReplayReport& report) {
  Thinking thinking = thinking_of(recorded);
  // Tolerates a few: writeback may run beside a single writer.
  constexpr std::uint64_t kFew = 20;  // 1 of this many requests
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
  deal_out_pauses(thinking);
  vary(thinking.ns);
  for (std::size_t i = 0; i < setups.size(); ++i) {
    replay::Setup setup = setups[i];
    setup.keep = {.locks = true};
    for (const unsigned writers : options.numbers) {
      listener.progress.show(fmt::format("{}: {} writers", setup.policy->name, writers));
      const unsigned cpus = options.cpus == 0 ? writers : options.cpus;
      setup.writers = writers;
      E4R_TRY(replay::SideBySide replay, session.side_by_side(setup));
      Replayed requests(replay, thinking.ns);
      E4R_TRY(contention::Outcome outcome, contention::simulate(requests, writers, {.cpus = cpus}));
      E4R_CHECK(replay.finish());
      if (outcome.deadlocked)
        return error("{}: {} writers would wait for each other for ever: its locks deadlock",
                     setup.policy->name, writers);
      results::Outcome& told =
          report.runs[i].by_writers.emplace_back(results::outcome_of(replay.engine()));
      told.tally.requests = outcome.requests;
      told.writers = std::move(outcome);
    }
  }
  return {};
}

}  // namespace e4r::app
