// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "util/rng.h"

namespace e4r::replay {
namespace {

// Compares UnderWay with a map, with few threads and many changes.
TEST(UnderWay, IsAMap) {
  UnderWay mine;
  std::map<std::uint32_t, std::uint64_t> model;
  Rng rng(7);
  std::size_t most = 0;
  for (std::uint64_t step = 1; step < 20'000; ++step) {
    const auto pid = static_cast<std::uint32_t>(rng.below(5));
    switch (rng.below(6)) {
      case 0:
      case 1:
        mine.set(pid, step);
        model[pid] = step;
        break;
      case 2:
        if (rng.below(100) == 0) {
          mine.clear();
          model.clear();
        }
        break;
      default:
        mine.erase(pid);
        model.erase(pid);
    }
    most = std::max(most, model.size());
    ASSERT_EQ(mine.size(), model.size());
    ASSERT_EQ(mine.empty(), model.empty());
    for (std::uint32_t of = 0; of < 5; ++of) {
      const auto wanted = model.find(of);
      const std::uint64_t* found = mine.find(of);
      ASSERT_EQ(found != nullptr, wanted != model.end());
      if (found != nullptr) {
        ASSERT_EQ(*found, wanted->second);
      }
    }
    std::uint64_t sum = 0, wanted_sum = 0;
    mine.for_each([&](std::uint64_t number) { sum += number; });
    for (const auto& [key, number] : model) wanted_sum += number;
    ASSERT_EQ(sum, wanted_sum);
  }
  EXPECT_EQ(most, 5u);
}

}  // namespace
}  // namespace e4r::replay
