// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "contention/simulation.h"

namespace e4r::allocator {
struct Policy;
}

namespace e4r::app {

// Describes what to run on a recording and what to report. It is made once, from a command line or
// a library call, and passed on unchanged. InputOptions select the recording.
struct RunSpec {
  // If empty, the recorded kernel's policy is used, and compare() adds its neighbours. verify()
  // accepts at most one.
  std::vector<const allocator::Policy*> policies;
  std::vector<std::string> settings;  // tunables of the replays, each as NAME=VALUE
  unsigned threads = 0;               // policies replayed at once; 0: one per CPU
  bool check = false;                 // verify the state's invariants during the run
  std::uint64_t explain = 0;          // the decision to explain; 0: do not explain

  // For compare():
  bool force = false;             // report even if the model does not follow the recorded kernel
  bool causes = false;            // explain why policies are better or worse; a page always does
  bool first_difference = false;  // find where each policy first differs from the first one
  bool for_page = false;          // record free space and costs, and explain the slowest decisions
  bool rows = false;              // keep a row for each request
  bool spaces = false;            // record free space over the course of the runs for a timeline
  std::size_t files = 0;          // number of most fragmented files to name
  std::vector<unsigned> writers;  // numbers of writers to simulate; empty: no simulation
  unsigned cpus = 0;              // CPUs that the writers share; 0: one per writer
  contention::Pace pace;          // pace of the writers

  // For verify():
  bool free_run = false;  // report the run that makes its own decisions
};

}  // namespace e4r::app
