// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>

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

}  // namespace e4r::replay
