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

// Highest block that a file mapped by indirect blocks can use (EXT4_MAX_BLOCK_FILE_PHYS).
inline constexpr std::uint64_t kMaxBlockFilePhys = 0xffffffff;

// The size of a file as normalisation sees it: the step into which the larger of i_size and the
// request's end falls (ext4_mb_normalize_request). The first seven steps are 16 KiB << n.
enum class SizeStep : std::uint8_t { k16, k32, k64, k128, k256, k512, m1, m4, m8, large, unknown };
inline constexpr int kSizeSteps = static_cast<int>(SizeStep::unknown);
[[nodiscard]] SizeStep size_step(std::uint64_t bytes, const Geometry& geometry);
// Smallest file size in bytes that falls into the step.
[[nodiscard]] std::uint64_t smallest_in(SizeStep step);

// What affects a decision but is neither in the request nor in a stock trace. It comes from the
// closing event if that shows it, and is estimated otherwise.
struct DecisionInputs {
  Mode mode = Mode::unknown;
  SizeStep size = SizeStep::unknown;
  // Another search took the best extent before this one came back for it.
  bool loses_best = false;
  // The thread moved to the CPU of the closing event before it chose the preallocations of a CPU.
  bool on_closing_cpu = false;
  PassedOver passed_over = {};  // GroupRules::tries_lock
  // For a stream: the request whose search had left the stream's goal where this one read it
  // (Search::goes_on_from). Another search may have moved the goal meanwhile.
  std::uint64_t goes_on_from = kLatestGoal;
};

// An allocation request as the allocator receives it (struct ext4_allocation_request). `len` is in
// clusters; `logical`, `goal` and the neighbours are in blocks. A physical neighbour of 0 means
// that there is no neighbour.
struct Request {
  std::uint64_t number = 0;  // in the trace, from 1; 0: not from a trace
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
  // The locks that other CPUs hold meanwhile (GroupRules::tries_lock); null: no locks.
  const HeldLocks* held = nullptr;
};

// The goal that normalisation makes from a request.
struct Normalized {
  // False when the size step contradicts what is mapped around the request. The goal is then the
  // request itself.
  bool consistent = false;
  Extent goal;
  // A lost place next to a neighbour (NeighbourGoal::lost), without length. A request that gets
  // nothing ends with it as its result.
  Extent lost;
  std::uint32_t flags = 0;  // hint_try_goal or 0
};

// What the kernel does with the place next to a mapped neighbour (ext4_mb_normalize_request).
enum class NeighbourGoal : std::uint8_t {
  aimed_at,  // the goal moves there
  // The place is written where the search keeps what it found, so it is lost and the goal stays.
  // Either way the goal is tried first. (up to 6.2, and stable kernels up to 5.4.243, 5.10.180,
  // 5.15.112 and 6.1.29)
  lost,
};

// Where in the goal a find that is shorter than the goal lies (ext4_mb_new_inode_pa).
enum class Placement : std::uint8_t {
  // At the goal's end if it then covers the start of the request; otherwise at the goal's start if
  // it then covers the request's end; otherwise at the request.
  over_end,
  // The same, but at the goal's start if it then covers the request's start (6.4 to 6.8, and stable
  // kernels from May 2023 to March 2024).
  over_start,
  // Before the request by the smallest of: the distance to the goal's start, the length that the
  // request does not need, and what aligns the start to the find's length. (up to 6.2, and the
  // stable kernels of NeighbourGoal::lost)
  window,
};

// Normalises the data request in `search`, whose orig and goal are set. The goal has a rounder
// length and start, lies within one group, and avoids the file's neighbours and preallocations.
[[nodiscard]] Normalized normalize(const Geometry& geometry, const Search& search,
                                   const Request& request, const state::InodePreallocs* preallocs,
                                   SizeStep step, NeighbourGoal neighbour);

// The first file block that a find of `len` clusters, shorter than the goal, serves.
[[nodiscard]] std::uint32_t place_in_goal(const Geometry& geometry, const Extent& orig,
                                          const Extent& goal, std::uint32_t len,
                                          Placement placement);

// The mode by the kernel's rule for file sizes, for a trace that does not show it.
[[nodiscard]] Mode mode_by_size(const Geometry& geometry, const Tunables& tunables,
                                const Extent& orig, const Request& request,
                                bool groups_closed_files);

// The mode that follows from a recorded one, which may come from a kernel with other rules.
[[nodiscard]] Mode mode_as_recorded(Mode recorded, const Geometry& geometry,
                                    const Tunables& tunables, const Extent& orig,
                                    bool groups_closed_files);

struct Decision;
class StreamGoals;

// A possible outcome of a decision.
struct Choice {
  bool prealloc = false;  // a preallocation serves it; otherwise a search
  Extent goal, result;    // result.len is 0 when no preallocation serves it or nothing was found
};

// Leads the allocator through a decision that is known from elsewhere. The allocator calls the
// members in this order and learns nothing else. Without a guide, the allocator decides alone.
class Guide {
 public:
  virtual ~Guide() = default;

  // The mode for a request whose mode is unknown. `by_size`: the mode that the file's size
  // suggests. `has_prealloc`: whether a preallocation of the inode serves the request.
  virtual Mode mode(Mode by_size, bool has_prealloc) = 0;

  // The size step for normalisation when the file's size is not known exactly. `likely`: the step
  // that the known size gives. `preallocs`: the inode's preallocations; null when it has no
  // preallocation.
  virtual SizeStep size(const Search& search, const Request& request,
                        const state::InodePreallocs* preallocs, SizeStep likely) = 0;

  // The request whose search left the goal from which the stream of `ino` went on, or kLatestGoal.
  virtual std::uint64_t goes_on_from(const StreamGoals&, std::uint64_t /*ino*/) {
    return kLatestGoal;
  }

  // Whether the allocator may end with this choice. The allocator asks about preallocations first,
  // then about each extent that the search would take. When the search takes no extent, the
  // allocator asks whether it may end so.
  virtual bool accepts(const Choice& choice) = 0;

  // Called after an extent was not accepted. `found` is what the search finds when it skips that
  // extent's group, and perhaps more groups. True when `found` matches the decision in all that is
  // known about it; the search then runs again without these groups.
  virtual bool confirms(const Decision&) { return false; }

  // The outcome to use after a choice was not accepted. The result lies inside one group.
  [[nodiscard]] virtual const Choice& dictated() const = 0;
};

}  // namespace e4r::allocator
