// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "contention/simulation.h"

namespace e4r::contention {

// What a request does in the simulation. Locks are numbered from 0.
struct RequestProgram {
  using What = allocator::LockStep::What;
  static constexpr std::uint32_t kNoGroup = UINT32_MAX;
  struct Step {
    std::uint32_t after_ns;  // since the previous step, or since the request began
    std::uint32_t lock;      // the first one, for locks that each CPU has one of
    std::uint32_t group;     // the lock's group; kNoGroup
    std::uint16_t name;
    What what;
    bool spins;    // a writer that waits for the lock keeps its CPU
    bool of_cpu;   // each CPU has one (locality groups)
    bool decides;  // tries a group: the request is served there
    bool marks;    // the last group lock taken: the clusters are marked as used under it
  };
  std::vector<Step> steps;
  std::uint32_t rest_ns = 0;  // after the last step
};

// Numbers locks in the order in which they come up.
class LockNumbers {
 public:
  explicit LockNumbers(unsigned cpus);

  // Appends what a request with these notes does. Several parts of a request follow each other.
  void read(const allocator::LockNotes& notes, RequestProgram& program);

  // The number of locks so far.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // The time from a group that is refused to the next group: the mean so far.
  [[nodiscard]] std::uint32_t next_group_ns() const;

 private:
  void read_part(const allocator::LockNotes& notes, std::size_t part, RequestProgram& program);
  [[nodiscard]] std::uint32_t number(const allocator::LockStep& step, bool of_cpu);

  unsigned cpus_;
  std::uint32_t count_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> of_cpus_;   // by name
  std::unordered_map<std::uint64_t, std::uint16_t> names_of_;  // the first notes of each name
  std::uint64_t next_groups_ = 0, next_groups_ns_ = 0;
};

}  // namespace e4r::contention
