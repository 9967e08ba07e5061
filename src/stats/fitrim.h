// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "ext4/geometry.h"
#include "util/status.h"

namespace e4r::stats {

// Returns the length in clusters of the shortest run that FITRIM discards (ext4_trim_fs,
// fs/ext4/mballoc.c, Linux 6.1.192 and 7.3.4). `bytes` is the minlen of the ioctl, `granularity`
// the device's discard granularity in bytes. A minlen below the granularity counts as the
// granularity. The result 0 has the same effect as 1. Fails for a minlen longer than a group, as
// the ioctl does.
[[nodiscard]] Result<std::uint64_t> fitrim_minlen(const Geometry& geometry, std::uint64_t bytes,
                                                  std::uint64_t granularity);

// Counts what FITRIM discards on a file system just after its mount, when no group counts as
// trimmed: the free runs of at least minlen clusters, group by group.
struct FitrimCount {
  std::uint64_t minlen = 0;  // clusters
  std::uint64_t discards = 0;
  std::uint64_t clusters = 0;

  // Counts one group. Bit k of the words is set if cluster k is in use. Bits after the last of its
  // `size` clusters are ignored.
  void add(std::span<const std::uint64_t> words, std::uint32_t size);
};

}  // namespace e4r::stats
