// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "posted/texts.h"
#include "state/group.h"
#include "util/rng.h"
#include "util/status.h"

// Places free extents so that e2freefrag prints a given text for them, and the free clusters of a
// group so that a kernel prints a given line of mb_groups for it.
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

// How much of an mb_groups line the group reproduces. If the kernel printed the line while the file
// system was in use, the first free cluster that it names may itself be in use.
enum class GroupFit : std::uint8_t {
  none,      // no layout was found
  counters,  // free clusters, free extents, and the chunks of each order
  all,       // also the first free cluster
};

// Returns why no group can have this line, or an empty view if a group can. `largest` is the order
// of the largest chunk that a kernel counts.
[[nodiscard]] std::string_view contradiction_in(const state::MbGroup& line, std::uint32_t largest);

// An extent consists of its largest chunks and smaller ones at both ends. If extents end at random
// positions, half of the ends have a chunk of any given smaller order. This constant is that share
// of the ends, in percent.
inline constexpr unsigned kRandomEnds = 50;

// Chooses the free clusters of a group. On entry, the set bits of `words` are the clusters that
// must be in use (metadata) and the bits after the group's end. On return, every cluster in use is
// set. The places of the free chunks are chosen at random among the possible ones. Unless the
// result is GroupFit::none, `words` agrees with the line.
[[nodiscard]] GroupFit lay_out_group(const state::MbGroup& line, std::uint32_t largest,
                                     std::uint32_t clusters, std::span<std::uint64_t> words,
                                     unsigned ends, Rng& rng);

}  // namespace e4r::posted
