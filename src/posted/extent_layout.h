// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "posted/texts.h"
#include "util/rng.h"
#include "util/status.h"

// Places free extents so that e2freefrag prints a given text for them.
namespace e4r::posted {

// A run of clusters, numbered across all groups.
struct ClusterRun {
  std::uint64_t first = 0, length = 0;
  [[nodiscard]] std::uint64_t end() const { return first + length; }
};

struct ExtentLayout {
  std::vector<ClusterRun> free;   // ascending
  std::uint64_t free_chunks = 0;  // as e2freefrag counts them
};

// Places the extents of the text. `usable` holds the runs in which clusters may be free, ascending,
// with at least one cluster between any two. The text must describe a file system with these blocks
// and clusters. The lengths of the extents within a bucket and their places are random. The number
// of free chunks is that of the text if suitable places are found. Errors: no file system can have
// these extents; there is not enough room for all of them.
[[nodiscard]] Result<ExtentLayout> lay_out_extents(const ExtentText& text, const Geometry& geometry,
                                                   const std::vector<ClusterRun>& usable, Rng& rng);

}  // namespace e4r::posted
