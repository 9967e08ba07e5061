// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "ext4/geometry.h"
#include "util/status.h"

namespace e4r::stats {

// The shortest run of clusters that FITRIM sends, for a minlen of so many bytes and a device of
// that discard granularity in bytes (ext4_trim_fs, fs/ext4/mballoc.c, Linux 6.1.192 and 7.3.4). A
// minlen below the granularity stands for the granularity. 0 is as good as 1. The Error: longer
// than a group, which the ioctl refuses.
[[nodiscard]] Result<std::uint64_t> fitrim_minlen(const Geometry& geometry, std::uint64_t bytes,
                                                  std::uint64_t granularity);

// What FITRIM sends of a whole file system that was mounted a moment ago, so that no group is
// trimmed: the free runs of at least minlen clusters, of each group by itself.
struct FitrimCount {
  std::uint64_t minlen = 0;  // clusters
  std::uint64_t discards = 0;
  std::uint64_t clusters = 0;

  // One group: bit k of the words is set when its k-th cluster is in use. Bits behind the last of
  // its `size` clusters do not matter.
  void add(std::span<const std::uint64_t> words, std::uint32_t size);
};

}  // namespace e4r::stats
