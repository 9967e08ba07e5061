// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the tree of groups by average free extent (Linux 5.13 to 5.19) with a plain list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "state/fs_state.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

using state::AverageTree;
using state::Group;

// Returns the lengths of the longest and the shortest path from the root to a leaf, in nodes.
std::pair<int, int> depths(const AverageTree::const_iterator& at) {
  if (!at) return {0, 0};
  auto left = at, right = at;
  const auto a = depths(left.go_left());
  const auto b = depths(right.go_right());
  return {1 + std::max(a.first, b.first), 1 + std::min(a.second, b.second)};
}

TEST(AverageTree, KeepsTheOrderOfArrivalAmongEquals) {
  std::vector<Group> groups(64);
  AverageTree tree;
  std::vector<Group*> expected;  // ascending; equal groups in order of insertion
  Rng rng(5);
  for (int step = 0; step < 20'000; ++step) {
    Group& group = groups[rng.below(groups.size())];
    if (group.in_tree.is_linked()) tree.erase(tree.iterator_to(group));
    std::erase(expected, &group);
    group.fragments = 1 + static_cast<std::uint32_t>(rng.below(4));
    group.free = group.fragments * static_cast<std::uint32_t>(1 + rng.below(20));
    tree.insert(group);
    const auto behind = std::find_if(expected.begin(), expected.end(), [&](const Group* other) {
      return average_run(*other) > average_run(group);
    });
    expected.insert(behind, &group);
    if (step % 100 != 0) continue;
    ASSERT_TRUE(std::ranges::equal(tree, expected, {}, [](const Group& g) { return &g; }));
    const auto [longest, shortest] = depths(tree.root());
    ASSERT_LE(longest, 2 * (shortest + 1)) << "not balanced";
  }
}

// The result depends on the shape of the tree. 1 to 7 are inserted in order, so 2 is the root and 4
// is its right child.
TEST(AverageTree, HasTheShapeOfTheKernels) {
  std::vector<Group> groups(8);
  AverageTree tree;
  for (std::uint32_t number = 1; number < groups.size(); ++number) {
    groups[number].number = number;
    groups[number].fragments = 1;
    groups[number].free = number;
    tree.insert(groups[number]);
  }
  auto at = tree.root();
  EXPECT_EQ(at->number, 2u);
  EXPECT_EQ(at.go_right()->number, 4u);
  EXPECT_EQ(at.go_right()->number, 6u);
}

}  // namespace
}  // namespace e4r::test
