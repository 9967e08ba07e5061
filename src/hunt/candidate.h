// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "age/ager.h"
#include "hunt/operations.h"
#include "util/status.h"

// The choices of a hunt: file systems, their age, workloads, and tunables.
namespace e4r::hunt {

// The origin of a file system. Candidates with equal origins begin with the same file system.
struct Origin {
  std::uint64_t bytes = 0;
  std::uint32_t block_size = 0;   // bytes
  std::size_t profile = 0;        // index into age::profiles()
  std::uint32_t turnover = 0;     // percent of its size that was written; 0: new file system
  std::uint32_t utilisation = 0;  // percent, when turnover is not 0
  std::uint32_t age_seed = 0;
  std::uint32_t piece = 0;  // longest free extent in blocks; longer ones are cut; 0: no cutting
  std::uint32_t gap = 1;    // used blocks between two pieces of a free extent
  friend bool operator==(const Origin&, const Origin&) = default;
};

// A file system and a workload.
struct Candidate {
  Origin origin;
  Mix mix;
  age::Writing writing = age::Writing::delayed;
  bool one_directory = false;  // inodes are neighbours; otherwise spread over the flex groups
  std::vector<std::string> settings;  // tunables of both policies, each as NAME=VALUE
};

// One parameter and its possible values. The first value is the plain one; values nearer to it are
// simpler.
struct Parameter {
  std::string name;
  std::string unit;  // printed after a value; may be empty
  std::vector<std::uint64_t> values;
  std::vector<std::string> words;  // meanings of the values; empty: numbers
  bool tunable = false;
  double plain = 0;  // probability that the search begins with the plain value
};

// For each parameter, the index of its value.
using Levels = std::vector<std::uint32_t>;

// The space of all candidates.
class Space {
 public:
  // No file system is larger than `largest` bytes. `tunables` are names of tunables to vary.
  // Errors: `largest` is below the smallest file system; a tunable has no values to choose from
  // (the message lists the tunables that have).
  [[nodiscard]] static Result<Space> create(std::uint64_t largest,
                                            const std::vector<std::string>& tunables);

  [[nodiscard]] std::span<const Parameter> parameters() const { return parameters_; }
  [[nodiscard]] Candidate candidate(const Levels& levels) const;
  // Maps a point of the unit cube to levels.
  [[nodiscard]] Levels levels(std::span<const double> point) const;
  // For example "8 KiB", or "mb_stripe=384" for a tunable.
  [[nodiscard]] std::string text(std::size_t parameter, std::uint32_t level) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace e4r::hunt
