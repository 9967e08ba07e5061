// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "posted/texts.h"
#include "util/rng.h"
#include "util/status.h"

// Places free extents so that e2freefrag prints a given text again.
namespace e4r::posted {

// Clusters, numbered across all groups.
struct ClusterRun {
  std::uint64_t first = 0, length = 0;
  [[nodiscard]] std::uint64_t end() const { return first + length; }
};

struct ExtentLayout {
  std::vector<ClusterRun> free;   // ascending
  std::uint64_t free_chunks = 0;  // as e2freefrag counts them
};

// `usable`: where free clusters may be; ascending, with a cluster between each two. The text is of
// a file system with these blocks and clusters. Which lengths the extents of a bucket have, and
// where they lie, is random. The number of free chunks is that of the text if places are found for
// it. Errors: no clusters can have these extents; no room for all of them.
[[nodiscard]] Result<ExtentLayout> lay_out_extents(const ExtentText& text, const Geometry& geometry,
                                                   const std::vector<ClusterRun>& usable, Rng& rng);

}  // namespace e4r::posted
