// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/free_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/rng.h"

namespace e4r::state {
namespace {

TEST(FreeIndex, AgreesWithALinearWalk) {
  for (const std::uint32_t groups : {1u, 2u, 7u, 16u, 33u}) {
    Rng rng(groups);
    FreeIndex index(groups);
    std::vector<std::uint32_t> free(groups, 0);
    for (int step = 0; step < 500; ++step) {
      const auto at = static_cast<std::uint32_t>(rng.below(groups));
      free[at] = static_cast<std::uint32_t>(rng.below(20));
      index.update(at, free[at]);
      const auto from = static_cast<std::uint32_t>(rng.below(groups + 1));
      const auto least = static_cast<std::uint32_t>(rng.between(1, 20));
      std::uint32_t want = from;
      while (want < groups && free[want] < least) ++want;
      ASSERT_EQ(index.next(from, least), want) << groups << " groups, step " << step;
    }
  }
}

}  // namespace
}  // namespace e4r::state
