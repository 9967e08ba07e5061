// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/ever_used.h"

#include <algorithm>

namespace e4r::age {

EverUsed::EverUsed(const state::Source& source)
    : blocks_count_(source.geometry.blocks_count), used_(blocks_count_, false) {
  const Geometry& geometry = source.geometry;
  std::fill_n(used_.begin(), static_cast<std::ptrdiff_t>(geometry.first_data_block), true);
  for (std::uint32_t group = 0; group < geometry.groups; ++group)
    for (std::uint32_t at = 0; at < geometry.clusters_in(group); ++at)
      if (state::bitmap::test(source.groups[group].words, at))
        used_[geometry.block_of(group, at)] = true;
}

void EverUsed::add(std::uint64_t first, std::uint64_t count) {
  std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(first),
              static_cast<std::ptrdiff_t>(count), true);
}

std::uint64_t EverUsed::pieces(std::uint32_t bits) const {
  std::uint64_t out = 0;
  std::uint64_t next = 0;  // the first block of a piece that is not counted yet
  for (std::uint64_t block = 0; block < blocks_count_; ++block) {
    if (block < next || !used_[block]) continue;
    ++out;
    next = ((block >> bits) + 1) << bits;
  }
  return out;
}

}  // namespace e4r::age
