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

// What is to be run on a recording, and what the answer must tell. It is resolved once, from a
// command line or a call of the library, and passed on unchanged. InputOptions say which recording.
struct RunSpec {
  // Empty: the recorded kernel's. compare() then adds its neighbours. verify() takes one at most.
  std::vector<const allocator::Policy*> policies;
  std::vector<std::string> settings;  // tunables of the replays, each as NAME=VALUE
  unsigned threads = 0;               // policies replayed at once; 0: one per CPU
  bool check = false;                 // verify the state's invariants on the way
  std::uint64_t explain = 0;          // the decision to explain; 0: do not explain

  // Of compare().
  bool force = false;             // answer even if the model does not follow the recorded kernel
  bool causes = false;            // say why policies are better or worse; a page always does
  bool first_difference = false;  // find where each policy first differs from the first policy
  bool for_page = false;          // record free space and costs, and explain the slowest decisions
  bool rows = false;              // keep a row for each request
  bool spaces = false;            // record free space over the course of the runs for a timeline
  std::size_t files = 0;          // how many of the most fragmented files to name
  std::vector<unsigned> writers;  // numbers of writers to simulate; empty: no simulation
  unsigned cpus = 0;              // that they share; 0: one for each writer
  contention::Pace pace;          // of the writers

  // Of verify().
  bool free_run = false;  // report the run that decides alone
};

}  // namespace e4r::app
