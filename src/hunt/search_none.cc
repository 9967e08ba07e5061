// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces search.cc in builds without NLopt.
#include "hunt/search.h"

namespace e4r::hunt {

Status check_search() {
  return error("this e4replay was built without NLopt: build it with libnlopt-dev installed");
}

Result<SearchResult> search(const Space& /*space*/, Starts& /*starts*/,
                            const SearchOptions& /*options*/, const OnTrial& /*on_trial*/) {
  return check_search().error();
}

}  // namespace e4r::hunt
