// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "ext4/blocks.h"

namespace e4r::replay {

// The blocks of one file as a replay has placed them: disjoint extents in logical order, merged
// where both file and device blocks continue.
class FileLayout {
 public:
  // Adds a mapping and replaces what was mapped there before.
  void map(const FileExtent& extent);

  // Removes the file blocks [logical, logical + len). Appends their device ranges to `out`, in
  // logical order.
  void unmap(std::uint64_t logical, std::uint64_t len, std::vector<BlockRange>& out);

  // The extent that holds file block `logical`, or null.
  [[nodiscard]] const FileExtent* find(std::uint64_t logical) const {
    return logical >= end() ? nullptr : find_below_end(logical);
  }
  // The nearest extent wholly below `logical`, or at or above it; null if there is no such extent.
  [[nodiscard]] const FileExtent* left_of(std::uint64_t logical) const;
  [[nodiscard]] const FileExtent* right_of(std::uint64_t logical) const {
    return logical >= end() ? nullptr : &extents_[first_ending_after(logical)];
  }

  [[nodiscard]] std::span<const FileExtent> extents() const { return extents_; }

 private:
  // One past the last file block, where the file grows; 0 for an empty file.
  [[nodiscard]] std::uint64_t end() const { return extents_.empty() ? 0 : extents_.back().end(); }
  [[nodiscard]] const FileExtent* find_below_end(std::uint64_t logical) const;
  [[nodiscard]] std::size_t first_ending_after(std::uint64_t logical) const;

  std::vector<FileExtent> extents_;
};

// Files by inode. Adding or removing a file moves the others.
using FileLayouts = boost::unordered_flat_map<std::uint64_t, FileLayout>;

}  // namespace e4r::replay
