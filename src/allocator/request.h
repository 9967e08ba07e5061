// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/search.h"
#include "ext4/geometry.h"
#include "state/prealloc.h"

namespace e4r::allocator {

// How the allocator serves a data request (ext4_mb_group_or_file).
enum class Mode : std::uint8_t {
  unknown,     // the trace does not show it
  group,       // from the CPU's locality group, for small files
  stream,      // with the inode's own preallocations, for large files
  noprealloc,  // exactly the requested length, for files that no program has open for writing
};

// The highest block that a file mapped by indirect blocks can use (EXT4_MAX_BLOCK_FILE_PHYS).
inline constexpr std::uint64_t kMaxBlockFilePhys = 0xffffffff;

// The file size class that normalisation uses: the step that contains the larger of i_size and the
// request's end (ext4_mb_normalize_request). The first seven steps are 16 KiB << n.
enum class SizeStep : std::uint8_t { k16, k32, k64, k128, k256, k512, m1, m4, m8, large, unknown };
inline constexpr int kSizeSteps = static_cast<int>(SizeStep::unknown);
[[nodiscard]] SizeStep size_step(std::uint64_t bytes, const Geometry& geometry);
// The smallest file size of the step, in bytes.
[[nodiscard]] std::uint64_t smallest_in(SizeStep step);

// Inputs that affect a decision but are neither in the request nor in a stock trace. They are taken
// from the closing event if it shows them, and estimated otherwise.
struct DecisionInputs {
  Mode mode = Mode::unknown;
  SizeStep size = SizeStep::unknown;
  // True if another search took the best extent before this search came back for it.
  bool loses_best = false;
  // True if the thread moved to the CPU of the closing event before it chose the preallocations of
  // a CPU.
  bool on_closing_cpu = false;
  PassedOver passed_over = {};  // GroupRules::tries_lock
  // For a stream: the request whose search set the stream goal that this request read
  // (Search::continues_from). Another search may have moved the goal since then.
  std::uint64_t continues_from = kLatestGoal;
};

// An allocation request as the allocator receives it (struct ext4_allocation_request). `len` is in
// clusters; `logical`, `goal` and the neighbours are in blocks. A device block of 0 means that
// there is no neighbour.
struct Request {
  std::uint64_t number = 0;  // its number in the trace, from 1; 0: not from a trace
  std::uint64_t ino = 0;
  std::uint32_t len = 0;
  std::uint32_t logical = 0;
  std::uint64_t goal = 0;
  std::uint64_t left_block = 0, right_block = 0;      // pleft, pright
  std::uint32_t left_logical = 0, right_logical = 0;  // lleft, lright
  std::uint32_t flags = 0;
  std::uint32_t cpu = 0;
  std::uint64_t size_hint = 0;  // i_size in bytes, or the best lower bound known
  bool inputs_exact = false;    // size_hint and open_for_write were recorded
  bool open_for_write = true;
  DecisionInputs inputs;
  // The locks that other CPUs hold during the request (GroupRules::tries_lock); null: no locks.
  const HeldLocks* held = nullptr;
};

// The goal that normalisation makes from a request.
struct Normalized {
  // False if the size step contradicts the blocks mapped around the request. The goal is then the
  // request itself.
  bool consistent = false;
  Extent goal;
  // The place next to a neighbour that the kernel loses (NeighbourGoal::lost), with length 0. A
  // request that gets nothing shows it as its result.
  Extent lost;
  std::uint32_t flags = 0;  // hint_try_goal or 0
};

// How the kernel uses the place next to a mapped neighbour (ext4_mb_normalize_request).
enum class NeighbourGoal : std::uint8_t {
  aimed_at,  // the goal moves there
  // The kernel writes the place into the field that holds the found extent, so the place is lost
  // and the goal does not move. The goal is tried first in both cases. (up to 6.2, and stable
  // kernels up to 5.4.243, 5.10.180, 5.15.112 and 6.1.29)
  lost,
};

// Where in the goal the kernel places a found extent that is shorter than the goal
// (ext4_mb_new_inode_pa).
enum class Placement : std::uint8_t {
  // At the goal's end if the extent then covers the start of the request. Otherwise at the goal's
  // start if it then covers the request's end. Otherwise at the request.
  over_end,
  // Like over_end, but the second choice is the goal's start if the extent then covers the
  // request's start (6.4 to 6.8, and stable kernels from May 2023 to March 2024).
  over_start,
  // Before the request, by the smallest of three distances: the distance to the goal's start, the
  // length that the request does not need, and the distance that aligns the start to the extent's
  // length. (up to 6.2, and the stable kernels of NeighbourGoal::lost)
  window,
};

// Normalises the data request in `search`, whose orig and goal are set. The goal has a rounder
// length and start, lies within one group, and avoids the file's neighbours and preallocations.
[[nodiscard]] Normalized normalize(const Geometry& geometry, const Search& search,
                                   const Request& request, const state::InodePreallocs* preallocs,
                                   SizeStep step, NeighbourGoal neighbour);

// The first file block of a found extent that has `len` clusters and is shorter than the goal.
[[nodiscard]] std::uint32_t place_in_goal(const Geometry& geometry, const Extent& orig,
                                          const Extent& goal, std::uint32_t len,
                                          Placement placement);

// The mode that the kernel's rule for file sizes gives. Used if the trace does not show the mode.
[[nodiscard]] Mode mode_by_size(const Geometry& geometry, const Tunables& tunables,
                                const Extent& orig, const Request& request,
                                bool groups_closed_files);

// The mode that follows from a recorded mode. The recorded kernel may have other rules.
[[nodiscard]] Mode mode_as_recorded(Mode recorded, const Geometry& geometry,
                                    const Tunables& tunables, const Extent& orig,
                                    bool groups_closed_files);

struct Decision;
class StreamGoals;

// A possible outcome of a request.
struct Choice {
  bool prealloc = false;  // a preallocation serves it; otherwise a search
  Extent goal, result;    // result.len is 0 when no preallocation serves it or nothing was found
};

// Leads the allocator to a decision that is known from elsewhere. The allocator calls the members
// in the order of their declaration. Without a guide, it makes every choice itself.
class Guide {
 public:
  virtual ~Guide() = default;

  // The mode for a request whose mode is unknown. `by_size` is the mode that the file's size
  // suggests. `has_prealloc` says whether a preallocation of the inode serves the request.
  virtual Mode mode(Mode by_size, bool has_prealloc) = 0;

  // The size step for normalisation if the file's size is not known exactly. `likely` is the step
  // of the best known size. `preallocs` are the inode's preallocations; null if it has none.
  virtual SizeStep size(const Search& search, const Request& request,
                        const state::InodePreallocs* preallocs, SizeStep likely) = 0;

  // The request whose search set the goal from which the stream of `ino` continued, or kLatestGoal.
  virtual std::uint64_t continues_from(const StreamGoals&, std::uint64_t /*ino*/) {
    return kLatestGoal;
  }

  // Whether the allocator may end with this choice. The allocator asks first about preallocations,
  // then about each extent that the search would take. If the search takes no extent, the allocator
  // asks whether it may end without one.
  virtual bool accepts(const Choice& choice) = 0;

  // Whether it is known that the search should have taken the accepted extent in a later criterion,
  // or after examining other numbers of extents and groups. Asked only if searches skip groups
  // whose locks are held.
  virtual bool doubts(mb::Criterion, std::uint32_t /*found*/, std::uint32_t /*groups_scanned*/) {
    return false;
  }

  // Called after an extent was not accepted, or was doubted. The argument is the outcome of a
  // search that skips that extent's group, and perhaps more groups. Returns whether it matches
  // everything that is known about the decision. If so, the search runs again without these groups.
  // Otherwise an extent that was only doubted is taken.
  virtual bool confirms(const Decision&) { return false; }

  // The outcome to use if the guide did not accept a choice. The result lies inside one group.
  [[nodiscard]] virtual const Choice& dictated() const = 0;
};

}  // namespace e4r::allocator
