// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/request.h"
#include "ext4/criterion.h"
#include "ext4/geometry.h"

namespace e4r::allocator {

// The visible outcome of a decision: the contents of the closing trace event.
struct Decision {
  bool prealloc = false;  // served from a preallocation, without a search
  bool success = false;
  Extent orig, goal, result;   // result.len is 0 when there is no space
  std::uint32_t goal_len = 0;  // clusters; the goal's length before a rung trimmed it
  std::uint32_t found = 0;
  std::uint32_t groups_scanned = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // the criterion that ended the search
  std::uint32_t flags = 0;
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint64_t block = 0;      // first block handed out
  std::uint32_t len = 0;        // clusters handed out; the rest of `result` is preallocated
  DecisionInputs inputs;        // inputs that the decision used
  std::uint32_t conflicts = 0;  // clusters of a dictated result that were already in use
  std::uint64_t ns = 0;         // time that a kernel's code took; 0: not measured
  // True if the decision depends on the file's size, or on whether the file is open for writing,
  // and the trace does not contain this input. e4replay then assumed a value that fits everything
  // in the trace.
  bool size_guessed = false, writers_guessed = false;
};

// A hash of all decisions in request order: 64-bit FNV-1a over each decision's first block (8
// bytes) and length in clusters (4 bytes), little-endian. Both are 0 if there was no space. Equal
// decisions give equal hashes.
class DecisionHash {
 public:
  void add(std::uint64_t block, std::uint32_t clusters) {
    if (block == 0 || clusters == 0) block = clusters = 0;
    add_bytes<8>(block);
    add_bytes<4>(clusters);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3ull;
  // Powers of kPrime. Hashing n zero bytes multiplies the hash by the n-th power.
  template <std::size_t kCount>
  static constexpr std::array<std::uint64_t, kCount + 1> powers() {
    std::array<std::uint64_t, kCount + 1> out = {1};
    for (std::size_t i = 0; i < kCount; ++i) out[i + 1] = out[i] * kPrime;
    return out;
  }
  template <std::size_t kBytes>
  void add_bytes(std::uint64_t value) {
    static constexpr auto kPowers = powers<kBytes>();
    std::size_t left = kBytes;
    for (; value != 0; value >>= 8, --left) value_ = (value_ ^ (value & 0xff)) * kPrime;
    value_ *= kPowers[left];
  }

  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

// The resolution of User Mode Linux's clock in nanoseconds (TIMER_MULTIPLIER in
// arch/um/kernel/time.c). No single time is more exact.
inline constexpr std::uint64_t kGuestTick = 256;

// The times that a kernel's code took for requests, in nanoseconds. Models are not timed.
class DecisionTimes {
 public:
  // Adds the time of a decision; ignores one that was not timed (ns is 0).
  void add(const Decision& decision);

  [[nodiscard]] bool empty() const { return times_.empty(); }
  // The mean of all times. This and the next two functions return nullopt if no request was timed.
  [[nodiscard]] std::optional<std::uint64_t> mean() const;
  // The time that a share of the requests did not exceed. `share` is from 0 to 1.
  [[nodiscard]] std::optional<std::uint64_t> percentile(double share) const;
  // The mean for the requests whose search ended in `criterion`; `unknown` selects the requests
  // that a preallocation served.
  [[nodiscard]] std::optional<std::uint64_t> mean_of(mb::Criterion criterion) const;

 private:
  struct Sum {
    std::uint64_t count = 0, ns = 0;
    [[nodiscard]] std::optional<std::uint64_t> mean() const;
  };
  Sum all_;
  std::array<Sum, mb::kCriteria> of_ = {};
  std::vector<std::uint32_t> times_;  // each capped at 4 s
};

}  // namespace e4r::allocator
