// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "contention/simulation.h"

namespace e4r::contention {

// What a request does, as the simulation does it: locks are numbered from 0.
struct Program {
  using What = allocator::LockStep::What;
  static constexpr std::uint32_t kNoGroup = UINT32_MAX;
  struct Step {
    std::uint32_t after_ns;  // since the step before, or since the request began
    std::uint32_t lock;      // the first of its kind for a lock of each CPU
    std::uint32_t group;     // whose lock it is; kNoGroup
    std::uint16_t name;
    What what;
    bool spins;    // who waits for the lock stays on its CPU
    bool of_cpu;   // each CPU has one (locality groups)
    bool decides;  // of a group that is tried: the request is served there
    bool marks;    // the last lock of a group that is taken: the clusters are marked as used
  };
  std::vector<Step> steps;
  std::uint32_t rest_ns = 0;  // after the last step
};

// Numbers locks as they come up.
class LockNumbers {
 public:
  explicit LockNumbers(unsigned cpus);

  // What a request of these notes does; those of several parts one after the other.
  void read(const allocator::LockNotes& notes, Program& program);

  // So far.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // What it takes to come from a group that will not do to the next one: the mean so far.
  [[nodiscard]] std::uint32_t next_group_ns() const;

 private:
  void read_part(const allocator::LockNotes& notes, std::size_t part, Program& program);
  [[nodiscard]] std::uint32_t number(const allocator::LockStep& step, bool of_cpu);

  unsigned cpus_;
  std::uint32_t count_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> of_cpus_;   // by name
  std::unordered_map<std::uint64_t, std::uint16_t> names_of_;  // the first ones
  std::uint64_t next_groups_ = 0, next_groups_ns_ = 0;
};

}  // namespace e4r::contention
