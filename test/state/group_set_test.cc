// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/group.h"

#include <gtest/gtest.h>

#include <set>

#include "util/rng.h"

namespace e4r::state {
namespace {

TEST(GroupSet, AnEmptyOneHasNoNext) {
  GroupSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.next(0), GroupSet::kNone);
  set.erase(5);
  set.insert(5, 10);
  set.erase(5);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.next(0), GroupSet::kNone);
}

TEST(GroupSet, TheLastGroupOfManyIsFound) {
  GroupSet set;
  constexpr std::uint32_t kGroups = 300'000;
  set.insert(kGroups - 1, kGroups);
  EXPECT_EQ(set.next(0), kGroups - 1);
  EXPECT_EQ(set.next(kGroups - 1), kGroups - 1);
  EXPECT_EQ(set.next(kGroups), GroupSet::kNone);
  EXPECT_EQ(set.next(UINT32_MAX), GroupSet::kNone);
}

// Compares GroupSet with a std::set, for numbers of groups close to the sizes of its levels.
TEST(GroupSet, IsASet) {
  Rng rng(4711);
  for (const std::uint32_t groups : {1u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 10'000u}) {
    GroupSet set;
    std::set<std::uint32_t> plain;
    for (int i = 0; i < 3000; ++i) {
      const auto number = static_cast<std::uint32_t>(rng.below(groups));
      if (rng.chance(1, 2)) {
        set.insert(number, groups);
        plain.insert(number);
      } else {
        set.erase(number);
        plain.erase(number);
      }
      const auto from = static_cast<std::uint32_t>(rng.below(groups + 1));
      const auto next = plain.lower_bound(from);
      ASSERT_EQ(set.next(from), next == plain.end() ? GroupSet::kNone : *next) << groups;
      ASSERT_EQ(set.contains(number), plain.contains(number));
      ASSERT_EQ(set.empty(), plain.empty());
    }
  }
}

}  // namespace
}  // namespace e4r::state
