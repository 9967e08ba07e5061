// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "app/listener.h"
#include "replay/decision_rows.h"
#include "replay/session.h"
#include "report/replay_report.h"

// What would become of the recorded requests if many writers made them (contention/simulation.h).
namespace e4r::app {

struct WriterOptions {
  std::vector<unsigned> numbers;  // of writers; empty: nobody is simulated
  unsigned cpus = 0;              // 0: one for each writer
};

// Numbers of writers as --writers takes them: "1,2,4". The Error says what is none.
[[nodiscard]] Result<std::vector<unsigned>> parse_writers(std::string_view text);

// A number of CPUs as --cpus takes it.
[[nodiscard]] Result<unsigned> parse_cpus(std::string_view text);

// What the recorded machine did between its requests.
struct Thinking {
  // Before each decision, in nanoseconds, by its number in the trace (from 1): since all requests
  // before it had been answered, a day at most. 0 where the trace does not tell.
  std::vector<std::uint64_t> ns;
  std::vector<bool> goes_on;  // likewise: the request before it was for the same inode
  std::uint64_t tick_ns = 0;  // of which all times are multiples; 0: nobody asked
  // Requests that came while another one was served: several writers were at work.
  std::uint64_t overlapping = 0;
};
[[nodiscard]] Thinking thinking_of(const replay::DecisionRows& recorded);

// Replays each setup once more for each number of writers, one after the other, with its locks
// noted, and simulates writers that make the requests. Fills by_writers of the report's runs, which
// are the setups'.
[[nodiscard]] Status simulate_writers(replay::Session& session,
                                      std::span<const replay::Setup> setups,
                                      const replay::DecisionRows& recorded,
                                      const WriterOptions& options, const Listener& listener,
                                      report::ReplayReport& report);

}  // namespace e4r::app
