// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "app/listener.h"
#include "replay/decision_rows.h"
#include "replay/session.h"
#include "report/replay_report.h"

// Simulates many writers that make the recorded requests (contention/simulation.h).
namespace e4r::app {

struct WriterOptions {
  std::vector<unsigned> numbers;  // numbers of writers; empty: no simulation
  unsigned cpus = 0;              // 0: one for each writer
};

// Parses the numbers of --writers, "1,2,4". The Error names the invalid one.
[[nodiscard]] Result<std::vector<unsigned>> parse_writers(std::string_view text);

// Parses the number of --cpus.
[[nodiscard]] Result<unsigned> parse_cpus(std::string_view text);

// What the recorded machine did between requests.
struct Thinking {
  // For each decision, by its number in the trace (from 1): the nanoseconds since all earlier
  // requests had been answered, at most a day. 0 if the trace does not tell.
  std::vector<std::uint64_t> ns;
  std::vector<bool> goes_on;  // by decision: the previous request was for the same inode
  std::uint64_t tick_ns = 0;  // all times are multiples of this; 0: there are no requests
  // Requests that came during another one, which shows several writers.
  std::uint64_t overlapping = 0;
};
[[nodiscard]] Thinking thinking_of(const replay::DecisionRows& recorded);

// Replays each setup once more for each number of writers, one replay at a time, and records its
// locks. Simulates writers that make the requests. Fills by_writers in the report's runs, which
// correspond to the setups.
[[nodiscard]] Status simulate_writers(replay::Session& session,
                                      std::span<const replay::Setup> setups,
                                      const replay::DecisionRows& recorded,
                                      const WriterOptions& options, const Listener& listener,
                                      report::ReplayReport& report);

}  // namespace e4r::app
