// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/free_index.h"

#include <algorithm>
#include <bit>

namespace e4r::state {

FreeIndex::FreeIndex(std::uint32_t groups)
    : groups_(groups), leaves_(std::bit_ceil(std::max(groups, 1u))), most_(2ull * leaves_, 0) {}

void FreeIndex::update(std::uint32_t group, std::uint32_t free) {
  std::uint32_t at = leaves_ + group;
  most_[at] = free;
  while (at > 1) {
    at /= 2;
    const std::uint32_t most = std::max(most_[2ul * at], most_[2ul * at + 1]);
    if (most_[at] == most) break;
    most_[at] = most;
  }
}

std::uint32_t FreeIndex::next(std::uint32_t from, std::uint32_t least) const {
  if (from >= groups_) return groups_;
  std::uint32_t at = leaves_ + from;
  // Go up to the nearest subtree, at `from` or to its right, with a group that has enough.
  while (most_[at] < least) {
    while ((at & 1) == 1) {
      at /= 2;
      if (at <= 1) return groups_;
    }
    ++at;
  }
  // Go down to the leftmost such group.
  while (at < leaves_) {
    at *= 2;
    if (most_[at] < least) ++at;
  }
  return std::min(at - leaves_, groups_);
}

}  // namespace e4r::state
