// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/file_layout.h"

#include <algorithm>

namespace e4r::replay {

std::size_t FileLayout::first_ending_after(std::uint64_t logical) const {
  if (logical >= end()) return extents_.size();
  const auto it = std::partition_point(extents_.begin(), extents_.end(),
                                       [&](const FileExtent& e) { return e.end() <= logical; });
  return static_cast<std::size_t>(it - extents_.begin());
}

void FileLayout::map(const FileExtent& extent) {
  if (extent.len == 0) return;
  std::size_t at = first_ending_after(extent.logical);
  if (at < extents_.size() && extents_[at].logical < extent.end()) {
    std::vector<BlockRange> replaced;
    unmap(extent.logical, extent.len, replaced);
    at = first_ending_after(extent.logical);
  }
  const bool joins_left = at > 0 && extents_[at - 1].is_continued_by(extent);
  const bool joins_right = at < extents_.size() && extent.is_continued_by(extents_[at]);
  if (joins_left && joins_right) {
    extents_[at - 1].len += extent.len + extents_[at].len;
    extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (joins_left) {
    extents_[at - 1].len += extent.len;
  } else if (joins_right) {
    FileExtent& right = extents_[at];
    right = {extent.logical, extent.block, extent.len + right.len};
  } else {
    extents_.insert(extents_.begin() + static_cast<std::ptrdiff_t>(at), extent);
  }
}

void FileLayout::unmap(std::uint64_t logical, std::uint64_t len, std::vector<BlockRange>& out) {
  const std::uint64_t end = logical + len;
  std::size_t at = first_ending_after(logical);
  while (at < extents_.size() && extents_[at].logical < end) {
    const FileExtent whole = extents_[at];
    const std::uint64_t from = std::max(whole.logical, logical);
    const std::uint64_t to = std::min(whole.end(), end);
    out.push_back({whole.block + (from - whole.logical), to - from});
    const FileExtent left = {whole.logical, whole.block, from - whole.logical};
    const FileExtent right = {to, whole.block + (to - whole.logical), whole.end() - to};
    const auto here = extents_.begin() + static_cast<std::ptrdiff_t>(at);
    if (left.len > 0 && right.len > 0) {
      *here = left;
      extents_.insert(here + 1, right);
      return;
    }
    if (left.len > 0) {
      *here = left;
      ++at;
    } else if (right.len > 0) {
      *here = right;
      return;
    } else {
      extents_.erase(here);
    }
  }
}

const FileExtent* FileLayout::find_below_end(std::uint64_t logical) const {
  const FileExtent& extent = extents_[first_ending_after(logical)];
  return extent.logical <= logical ? &extent : nullptr;
}

const FileExtent* FileLayout::left_of(std::uint64_t logical) const {
  if (logical == 0) return nullptr;
  const std::size_t at = first_ending_after(logical - 1);
  if (at < extents_.size() && extents_[at].logical < logical) return &extents_[at];
  return at > 0 ? &extents_[at - 1] : nullptr;
}

}  // namespace e4r::replay
