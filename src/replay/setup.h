// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "allocator/tunables.h"
#include "replay/accounts.h"
#include "util/status.h"

namespace e4r::allocator {
class Decider;
struct Policy;
}  // namespace e4r::allocator

namespace e4r::replay {

struct Setup;
struct WarmStart;
// Makes the decider of one replay. `warm`: null if the file system had just been mounted.
using DeciderMaker = std::function<Result<std::unique_ptr<allocator::Decider>>(
    const Setup& setup, const WarmStart* warm)>;

// One replay: who decides, and what its caller wants of it.
struct Setup {
  static constexpr std::uint64_t kOften = 4096;  // for check_every

  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  DeciderMaker make = nullptr;  // empty: the policy's model decides. Not for a run that follows
  unsigned writers = 1;  // writers whose requests come in any order. Not for a run that follows
  // Verify every result (inside its group, clear of metadata). Every so many operations, verify
  // every invariant of the state. 0: verify nothing.
  std::uint64_t check_every = 0;
  AddAccounts keep = nullptr;  // may be empty
};

}  // namespace e4r::replay
