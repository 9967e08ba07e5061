// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/recent_map.h"

#include <gtest/gtest.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <unordered_map>

#include "util/rng.h"

namespace e4r {
namespace {

// Compares RecentMap with a map, with few keys and many changes.
template <class Map>
void compare_with_map() {
  RecentMap<Map> mine;
  std::map<std::uint64_t, std::uint64_t> model;
  Rng rng(3);
  for (std::uint64_t step = 1; step < 20'000; ++step) {
    const std::uint64_t key = rng.below(step / 100 + 2);
    switch (rng.below(4)) {
      case 0:
        mine[key] = step;
        model[key] = step;
        break;
      case 1:
        mine.erase(key);
        model.erase(key);
        break;
      default:
        break;
    }
    const std::uint64_t* found = mine.find(key);
    const auto expected = model.find(key);
    ASSERT_EQ(found != nullptr, expected != model.end());
    ASSERT_TRUE(found == nullptr || *found == expected->second);
    ASSERT_EQ(mine.all().size(), model.size());
  }
}

TEST(RecentMap, IsAMap) {
  compare_with_map<std::unordered_map<std::uint64_t, std::uint64_t>>();
  compare_with_map<boost::unordered_flat_map<std::uint64_t, std::uint64_t>>();
}

}  // namespace
}  // namespace e4r
