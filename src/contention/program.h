// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "contention/simulation.h"

namespace e4r::contention {

// The steps of a request in the simulation. Locks are numbered from 0.
struct RequestProgram {
  using What = allocator::LockStep::What;
  static constexpr std::uint32_t kNoGroup = UINT32_MAX;
  struct Step {
    std::uint32_t after_ns;  // time since the previous step, or since the request began
    std::uint32_t lock;      // for per-CPU locks: the lock of the first CPU
    std::uint32_t group;     // the lock's group, or kNoGroup
    std::uint16_t name;
    What what;
    bool spins;    // a writer that waits for the lock keeps its CPU
    bool of_cpu;   // per-CPU lock (locality groups)
    bool decides;  // tries the group in which the request is served
    bool marks;    // the last group lock taken, under which clusters are marked as in use
  };
  std::vector<Step> steps;
  std::uint32_t rest_ns = 0;  // time after the last step
};

// Numbers locks in the order in which they are first used.
class LockNumbers {
 public:
  explicit LockNumbers(unsigned cpus);

  // Converts the notes of a request to its steps. The notes may have several parts, which are
  // concatenated.
  void read(const allocator::LockNotes& notes, RequestProgram& program);

  // The number of locks so far.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // The mean time, so far, from a refused group to the next group.
  [[nodiscard]] std::uint32_t next_group_ns() const;

 private:
  void read_part(const allocator::LockNotes& notes, std::size_t part, RequestProgram& program);
  [[nodiscard]] std::uint32_t number(const allocator::LockStep& step, bool of_cpu);

  unsigned cpus_;
  std::uint32_t count_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> of_cpus_;  // by name
  std::unordered_map<std::uint64_t, std::uint16_t>
      names_of_;  // by lock: its name when it was first seen
  std::uint64_t next_groups_ = 0, next_groups_ns_ = 0;
};

}  // namespace e4r::contention
