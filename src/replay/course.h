// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace e4r::replay {

// A count over the course of a trace in at most kBuckets buckets, however long the trace is. Bucket
// i holds the decisions [1 + i * width(), 1 + (i + 1) * width()). A Bucket has join(other), which
// adds the counts of a later run of decisions.
template <class Bucket>
class Course {
 public:
  static constexpr std::size_t kBuckets = 512;

  // The bucket of a decision; decisions count from 1.
  [[nodiscard]] Bucket& at(std::uint64_t decision) {
    while ((decision - 1) >> shift_ >= kBuckets) fold();
    const auto index = static_cast<std::size_t>((decision - 1) >> shift_);
    if (index >= buckets_.size()) buckets_.resize(index + 1);
    return buckets_[index];
  }
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }
  [[nodiscard]] std::uint64_t width() const { return std::uint64_t{1} << shift_; }

 private:
  // Halves the number of buckets.
  void fold() {
    const std::size_t half = (buckets_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
      Bucket both = buckets_[2 * i];
      if (2 * i + 1 < buckets_.size()) both.join(buckets_[2 * i + 1]);
      buckets_[i] = both;
    }
    buckets_.resize(half);
    ++shift_;
  }

  std::vector<Bucket> buckets_;
  std::uint32_t shift_ = 0;
};

}  // namespace e4r::replay
