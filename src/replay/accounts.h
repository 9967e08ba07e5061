// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace e4r::allocator {
struct Decision;
struct Request;
}  // namespace e4r::allocator
namespace e4r::state {
class FsState;
}

namespace e4r::replay {

// Called after a decision, with its number and the state at that moment.
using Watch = std::function<void(std::uint64_t decision, const state::FsState& state)>;

// One request to the allocator and its outcome.
struct Decided {
  std::uint64_t decision;  // its number in the trace, from 1; further requests repeat it
  std::uint64_t event;     // its number in the trace, counted from 1
  const allocator::Request& request;
  const allocator::Decision& made;
};
// Called after each request. Returning false ends the run with the Error "stopped".
using DecisionWatch = std::function<bool(const Decided& decided)>;

// What a run keeps and tells of single decisions, besides its figures. An account that nobody asks
// for costs nothing.
struct Accounts {
  std::vector<std::uint64_t> explain = {};     // decisions to explain, from 1, ascending
  bool log = false;                            // the outcome of each request (Engine::log)
  std::vector<std::uint64_t> write_down = {};  // entries of the log to keep as text, from 0
  bool rows = false;                           // a table row of each request (Engine::rows)
  bool locks = false;     // the lock operations of each request (Engine::locks); not when following
  Watch watch = nullptr;  // called every `watch_every` decisions; may be empty
  std::uint64_t watch_every = 1;    // at least 1
  DecisionWatch decided = nullptr;  // may be empty
};

}  // namespace e4r::replay
