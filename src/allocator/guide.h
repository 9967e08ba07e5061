// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "allocator/request.h"
#include "allocator/search.h"
#include "state/geometry.h"

namespace e4r::allocator {

struct Decision;

// What a decision may end with.
struct Choice {
  bool prealloc = false;       // served from a preallocation; else found by a search
  state::Extent goal, result;  // result.len 0: no preallocation serves it, or nothing was found
};

// Leads the allocator through a decision that is known from elsewhere. The members are all that it
// can be told; they are asked in this order. An allocator without a guide decides alone.
class Guide {
 public:
  virtual ~Guide() = default;

  // How to serve a request whose mode is not known. `by_size`: what its file's size says;
  // `has_prealloc`: whether a preallocation of the inode serves it.
  virtual Mode mode(Mode by_size, bool has_prealloc) = 0;

  // Which size to normalise the request with, when the file's is not known exactly. `likely`: by
  // what is known; `preallocs`: the inode's, null when it has none.
  virtual SizeStep size(const Search& search, const Request& request,
                        const state::InodePreallocs* preallocs, SizeStep likely) = 0;

  // Whether the allocator may end with its choice. Asked of preallocations first, then of each
  // extent that the search would take, then, when there is none, of that.
  virtual bool accepts(const Choice& choice) = 0;

  // After an extent was not accepted: whether `found`, which the search finds when it passes over
  // that extent's group, is all that is known of the decision. It is then searched for again so.
  virtual bool confirms(const Decision&) { return false; }

  // What to end with, after a choice that was not accepted. The result lies inside its group.
  [[nodiscard]] virtual const Choice& dictated() const = 0;
};

}  // namespace e4r::allocator
