// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "allocator/request.h"
#include "allocator/search.h"
#include "ext4/geometry.h"

namespace e4r::allocator {

struct Decision;

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

  // Whether the allocator may end with this choice. The allocator asks about preallocations first,
  // then about each extent that the search would take. When the search takes no extent, the
  // allocator asks whether it may end so.
  virtual bool accepts(const Choice& choice) = 0;

  // Called after an extent was not accepted. `found` is what the search finds when it skips that
  // extent's group. True when `found` matches the decision in all that is known about it; the
  // search then runs again without that group.
  virtual bool confirms(const Decision&) { return false; }

  // The outcome to use after a choice was not accepted. The result lies inside one group.
  [[nodiscard]] virtual const Choice& dictated() const = 0;
};

}  // namespace e4r::allocator
