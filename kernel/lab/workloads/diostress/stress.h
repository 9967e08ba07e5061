// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../support.h"
#include "model.h"

// State shared by the threads of a stress run.
namespace dio {

// The first 1/kKeptPart of the largest file size is never truncated.
constexpr std::uint32_t kKeptPart = 4;

enum class Count : unsigned {
  writes_sync,
  writes_aio,
  writes_uring,
  sub_block,
  shared,
  extends,
  nowait_refused,
  write_errors,
  read_errors,
  bytes,
  conflicts,
  buffered_writes,
  mapped_stores,
  punches,
  zero_ranges,
  fallocates,
  grows,
  truncates,
  reads,
  sectors_read,
  sectors_verified,
  sectors_ambiguous,
  sectors_exposed,
  rounds,
  failures,
  last
};

// One file of a round, with two descriptors.
struct Target {
  Model* model = nullptr;
  int direct = -1;
  int buffered = -1;
  std::string path;
  std::uint32_t overlap_first = 0,
                overlap_end = 0;  // part of the file in which writes may overlap each other
  std::uint64_t seed = 0;         // seed of the round and the file
};

class Stress {
 public:
  explicit Stress(const lab::Options& options);

  void add(Count what, std::uint64_t n = 1) {
    counts_[static_cast<unsigned>(what)].fetch_add(n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count(Count what) const {
    return counts_[static_cast<unsigned>(what)].load(std::memory_order_relaxed);
  }
  // Returns whether a claim was granted. If not, counts a conflict.
  bool got(const std::optional<Claimed>& claimed) {
    if (!claimed) add(Count::conflicts);
    return claimed.has_value();
  }
  // Calls op(generator) `ops` times, or until the run is over. Each call has its own generator, so
  // random choices do not depend on the timing of other threads.
  template <class Op>
  void each_op(std::uint32_t owner, std::uint64_t ops, const Op& op);
  // Chooses a random file for an operation, or for a group of operations.
  Target& draw_target(lab::Rng& rng) { return targets[rng.below(targets.size())]; }
  // Returns the sector near which all writers currently write. It changes after some number of
  // operations.
  std::uint32_t hot_sector(const Target& target) const;
  void step() { steps_.fetch_add(1, std::memory_order_relaxed); }
  // Prints a line for the first few failures, and ends the run.
  void report(const Target& target, const std::string& when, const Violation& violation);
  // Reports a system call that should not have failed.
  void unexpected(const Target& target, const std::string& what, long result);
  [[nodiscard]] bool over() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Returns the percentage of the writers' operations that are at the end of the file.
  [[nodiscard]] unsigned tails() const { return tails_; }
  [[nodiscard]] double elapsed() const { return clock_.seconds(); }
  void figures() const;

  std::vector<Target> targets;
  std::uint64_t round = 0, round_seed = 0;
  std::uint32_t block_size = 4096;
  bool exposing = false;  // see Model::let_stores_expose()

 private:
  std::uint64_t seed_;
  double seconds_;  // 0 means no limit
  unsigned tails_;
  lab::Stopwatch clock_;
  std::array<std::atomic<std::uint64_t>, static_cast<unsigned>(Count::last)> counts_{};
  std::atomic<std::uint64_t> steps_{0};
  std::mutex print_;
};

// Returns a random generator that depends only on the seed and up to three numbers.
lab::Rng generator(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

template <class Op>
void Stress::each_op(std::uint32_t owner, std::uint64_t ops, const Op& op) {
  for (std::uint64_t i = 0; i < ops && !over(); ++i) {
    lab::Rng rng = generator(round_seed, owner, i);
    op(rng);
    step();
  }
}

}  // namespace dio
