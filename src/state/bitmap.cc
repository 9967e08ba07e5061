// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/bitmap.h"

#include <bit>

namespace e4r::state::bitmap {

// mke2fs-lazy and tune2fs-lazy, which need nothing of this, were tried on s390x.
static_assert(std::endian::native == std::endian::little,
              "the model was never tried on a big-endian machine: see docs/installing.md");

bool all_set(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_clear(words, from + count, from) == from + count;
}

bool all_clear(ConstWords words, std::uint32_t from, std::uint32_t count) {
  return find_set(words, from + count, from) == from + count;
}

std::uint32_t count_clear(ConstWords words, std::uint32_t limit) {
  std::uint32_t clear = 0;
  for_words(0, limit, [&](std::uint32_t at, std::uint64_t mask) {
    clear += static_cast<std::uint32_t>(std::popcount(~words[at] & mask));
  });
  return clear;
}

}  // namespace e4r::state::bitmap
