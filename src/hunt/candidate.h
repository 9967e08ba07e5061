// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "age/ager.h"
#include "hunt/operations.h"
#include "util/status.h"

// What a hunt chooses from: file systems, their age, what programs do to them, and tunables.
namespace e4r::hunt {

// Where a file system comes from: two candidates with the same one begin alike.
struct Origin {
  std::uint64_t bytes = 0;
  std::uint32_t block_size = 0;   // bytes
  std::size_t profile = 0;        // of age::profiles()
  std::uint32_t turnover = 0;     // percent of its size that was written; 0: it is new
  std::uint32_t utilisation = 0;  // percent, when turnover is not 0
  std::uint32_t age_seed = 0;
  std::uint32_t piece = 0;  // blocks: no free extent is longer; 0: they are left as they are
  std::uint32_t gap = 1;    // blocks in use between two pieces of a free extent
  friend bool operator==(const Origin&, const Origin&) = default;
};

// A file system, and what happens on it.
struct Candidate {
  Origin origin;
  Mix mix;
  age::Writing writing = age::Writing::delayed;
  bool one_directory = false;  // inodes are neighbours; otherwise spread over the flex groups
  std::vector<std::string> settings;  // tunables of both policies, each as NAME=VALUE
};

// One thing that is chosen, and the values that it can have. The first value is the plain one;
// those nearer to it are simpler.
struct Parameter {
  std::string name;
  std::string unit;  // behind a value; empty: none
  std::vector<std::uint64_t> values;
  std::vector<std::string> words;  // what the values mean; empty: they are numbers
  bool tunable = false;
  double plain = 0;  // how often the search begins with the plain value, up to 1
};

// The place of the value of each parameter.
using Levels = std::vector<std::uint32_t>;

// All that can be chosen.
class Space {
 public:
  // No file system is larger than `largest` bytes. `tunables` are those that are chosen too, by
  // their names. Errors: not even the smallest file system is as small; a tunable that has no
  // values to choose from (the message lists those that have).
  [[nodiscard]] static Result<Space> create(std::uint64_t largest,
                                            const std::vector<std::string>& tunables);

  [[nodiscard]] std::span<const Parameter> parameters() const { return parameters_; }
  [[nodiscard]] Candidate candidate(const Levels& levels) const;
  // Of a point of the unit cube.
  [[nodiscard]] Levels levels(std::span<const double> point) const;
  // "8 KiB"; "mb_stripe=384" of a tunable.
  [[nodiscard]] std::string text(std::size_t parameter, std::uint32_t level) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace e4r::hunt
