// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contention/simulation.h"

namespace e4r::contention {

// Work as the simulation does it: locks are numbered from 0.
class Program {
 public:
  using What = allocator::LockStep::What;
  struct Step {
    std::uint32_t after_ns;  // since the step before, or since the request began
    std::uint32_t lock;      // the first of its kind for a lock of each CPU
    std::uint16_t name;
    What what;
    bool spins;    // the lock is one that is spun for: its holder stays on its CPU
    bool of_cpu;   // each CPU has one (locality groups)
    bool decides;  // of a group that is tried: the request is served there
  };
  struct Request {
    std::span<const Step> steps;
    std::uint32_t rest_ns;  // after the last step
  };

  Program(const Work& work, unsigned cpus);

  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  [[nodiscard]] Request operator[](std::size_t request) const;
  [[nodiscard]] std::uint32_t locks() const { return locks_; }
  // What it takes to come from a group that will not do to the next one.
  [[nodiscard]] std::uint32_t next_group_ns() const { return next_group_ns_; }

 private:
  struct Entry {
    std::uint64_t end;  // of its steps
    std::uint32_t rest_ns;
  };
  void mark_spins(std::size_t begin);
  void mark_deciding(std::size_t begin);

  std::vector<Step> steps_;
  std::vector<Entry> requests_;
  std::uint32_t locks_ = 0;
  std::uint32_t next_group_ns_ = 0;
};

}  // namespace e4r::contention
