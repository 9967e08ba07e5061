// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/decision_log.h"

#include <algorithm>

#include "replay/agreement.h"

namespace e4r::replay {
namespace {

// Finalizer of SplitMix64, chained.
class Digest {
 public:
  void add(std::uint64_t value) {
    sum_ += value + 0x9e3779b97f4a7c15;
    sum_ = (sum_ ^ sum_ >> 30) * 0xbf58476d1ce4e5b9;
    sum_ = (sum_ ^ sum_ >> 27) * 0x94d049bb133111eb;
    sum_ ^= sum_ >> 31;
  }
  void add(const Extent& e) {
    add(std::uint64_t{e.group} << 32 | e.start);
    add(std::uint64_t{e.len} << 32 | e.logical);
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

// Digests the fields that Agreement compares, and the allocated blocks.
std::uint64_t digest(const allocator::Decision& d) {
  Digest out;
  out.add(static_cast<std::uint64_t>(d.prealloc) << 1 | static_cast<std::uint64_t>(d.success));
  out.add(d.orig);
  out.add(d.result);
  if (d.success) {
    out.add(d.block);
    out.add(d.len);
  }
  if (d.prealloc) return out.sum();
  out.add(d.goal);
  out.add(d.found & mb::recorded_bits);
  out.add(d.groups_scanned & mb::recorded_bits);
  out.add(static_cast<std::uint64_t>(d.criterion));
  out.add(d.flags & mb::recorded_bits);
  out.add(d.tail & mb::recorded_bits);
  out.add(d.broken);
  return out.sum();
}

}  // namespace

void DecisionLog::add(std::uint64_t decision, const allocator::Decision& made) {
  if (!texts_.empty())
    if (const auto wanted = texts_.find(entries_.size()); wanted != texts_.end())
      wanted->second = describe(made);
  entries_.push_back({decision, digest(made)});
}

std::uint64_t DecisionLog::alike(const DecisionLog& other) const {
  const auto apart = std::mismatch(entries_.begin(), entries_.end(), other.entries_.begin(),
                                   other.entries_.end(), [](const Entry& a, const Entry& b) {
                                     return a.decision == b.decision && a.digest == b.digest;
                                   });
  return static_cast<std::uint64_t>(apart.first - entries_.begin());
}

}  // namespace e4r::replay
