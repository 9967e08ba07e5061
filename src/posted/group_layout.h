// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "state/group.h"
#include "util/rng.h"

// Places the free clusters of a group so that a kernel prints a given line of mb_groups for it.
namespace e4r::posted {

// What of the line the group has. A line that a kernel printed while the file system was in use may
// name a first free cluster that is in use itself.
enum class GroupFit : std::uint8_t {
  none,      // no place was found for all of it
  counters,  // free clusters, free extents, and chunks of each order
  all,       // the first free cluster, too
};

// A line that no group can have. `largest`: the order of the largest chunk that a kernel counts.
// Returns the reason, or an empty view.
[[nodiscard]] std::string_view contradiction_in(const state::MbGroup& line, std::uint32_t largest);

// An extent is its largest chunks with smaller ones at both ends. Where the ends of extents are
// random, half of them have a chunk of a given smaller order: this share, in percent.
inline constexpr unsigned kRandomEnds = 50;

// `words` has the bits of what must be in use (metadata), and of what lies behind the group's end.
// Sets the bits of all that is in use. Which of the possible places free chunks get is random.
// Unless it returns none, `words` is as the line says.
[[nodiscard]] GroupFit lay_out_group(const state::MbGroup& line, std::uint32_t largest,
                                     std::uint32_t clusters, std::span<std::uint64_t> words,
                                     unsigned ends, Rng& rng);

}  // namespace e4r::posted
