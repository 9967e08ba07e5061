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

class FileWriters;
struct Setup;
struct WarmStart;
// Makes the decider of one replay. `warm` is null if the file system had just been mounted.
using DeciderMaker = std::function<Result<std::unique_ptr<allocator::Decider>>(
    const Setup& setup, const WarmStart* warm)>;

// The setup of one replay: the decider, and the options of the caller.
struct Setup {
  static constexpr std::uint64_t kOften = 4096;  // a value for check_every

  const allocator::Policy* policy = nullptr;
  allocator::Tunables tunables;
  DeciderMaker make = nullptr;  // empty: the policy's model decides. Empty for a run that follows
  // The writers whose requests interleave freely. Null if there is one writer or the run follows
  // the recorded kernel.
  std::shared_ptr<const FileWriters> writers = nullptr;
  // If not 0: verify that every result lies inside its group and does not overlap metadata, and
  // verify every invariant of the state after each `check_every` operations.
  std::uint64_t check_every = 0;
  AddAccounts keep = nullptr;  // may be empty
};

}  // namespace e4r::replay
