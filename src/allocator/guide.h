// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "allocator/request.h"
#include "allocator/search.h"
#include "ext4/geometry.h"

namespace e4r::allocator {

struct Decision;

// What a decision may end with.
struct Choice {
  bool prealloc = false;  // served from a preallocation; else found by a search
  Extent goal, result;    // result.len 0: no preallocation serves it, or nothing was found
};

// Leads the allocator through a decision that is known from elsewhere. The allocator asks the
// members in this order, and learns nothing else. An allocator without a guide decides alone.
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

  // Whether the allocator may end with its choice. It is asked of preallocations first, then of
  // each extent that the search would take. When the search takes none, it is asked whether that
  // may be the end.
  virtual bool accepts(const Choice& choice) = 0;

  // Called after an extent was not accepted. `found` is what the search finds when it skips the
  // group of that extent. True when `found` is the decision in everything that is known of it; the
  // search is then repeated without that group.
  virtual bool confirms(const Decision&) { return false; }

  // What to end with, after a choice that was not accepted. The result lies inside its group.
  [[nodiscard]] virtual const Choice& dictated() const = 0;
};

}  // namespace e4r::allocator
