// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "age/profile.h"
#include "util/rng.h"

namespace e4r::age {

// The files of a file system in the order in which they were made. Chooses the file to remove so
// that the ages of the others approach a histogram. An age is a share of the time since the first
// file was made; time counts files made. A histogram with a step much higher than the steps before
// it cannot be reached, because every old file was young first.
class Population {
 public:
  explicit Population(const std::vector<Step>& ages);

  void add(std::uint32_t slot);
  [[nodiscard]] std::uint64_t size() const { return alive_; }
  // Any file. There must be one.
  [[nodiscard]] std::uint32_t any(Rng& rng) const;
  // Removes a file: the frailest of some files in the step of ages that has the largest excess of
  // files. There must be one.
  [[nodiscard]] std::uint32_t take(Rng& rng);

 private:
  struct Birth {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
    bool alive = false;
  };
  [[nodiscard]] std::uint64_t alive_among(std::size_t count) const;
  [[nodiscard]] std::uint64_t older_than(double share) const;
  [[nodiscard]] std::size_t nth_alive(std::uint64_t n) const;
  void forget_the_gone();

  static constexpr std::size_t kSpare = 1024;
  std::vector<Step> shares_;  // limits as shares of all time, up to 1; the weights add up to 1
  std::vector<Birth> births_;
  std::vector<std::uint32_t> sums_;  // number of living files: a Fenwick tree over births_
  std::uint64_t made_ = 0;
  std::uint64_t alive_ = 0;
};

}  // namespace e4r::age
