// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <boost/icl/interval_set.hpp>
#include <cstdint>

namespace e4r::age {

// Blocks of a file, as ranges that are not adjacent.
using BlockSet = boost::icl::interval_set<std::uint64_t, std::less,
                                          boost::icl::right_open_interval<std::uint64_t>>;
using BlockSpan = BlockSet::interval_type;  // [first, end)

// Returns how many blocks of the span are not in the set.
[[nodiscard]] inline std::uint64_t count_missing(const BlockSet& set, const BlockSpan& span) {
  std::uint64_t out = boost::icl::length(span);
  const auto [first, last] = set.equal_range(span);
  for (auto at = first; at != last; ++at)
    out -= std::min(at->upper(), span.upper()) - std::max(at->lower(), span.lower());
  return out;
}

}  // namespace e4r::age
