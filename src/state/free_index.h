// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

namespace e4r::state {

// The free clusters of every group in a tournament tree, so that the next group with at least n
// of them is found in O(log groups). A walk over all groups can then skip those that it would only
// count.
class FreeIndex {
 public:
  explicit FreeIndex(std::uint32_t groups);

  void update(std::uint32_t group, std::uint32_t free);

  // First group >= from with at least `least` free clusters, or the number of groups.
  [[nodiscard]] std::uint32_t next(std::uint32_t from, std::uint32_t least) const;

 private:
  std::uint32_t groups_;
  std::uint32_t leaves_;             // power of two
  std::vector<std::uint32_t> most_;  // heap order: children of i are 2i and 2i+1
};

}  // namespace e4r::state
