// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <set>

#include "age/ager.h"

namespace e4r::age {
namespace {

using NodeKind = ExtentTree::NodeGoal::Kind;

constexpr std::uint32_t kBlock = 1024;                  // bytes
constexpr std::uint64_t kPerNode = (kBlock - 12) / 12;  // entries

// Appends separate runs of one block each. Nodes lie from `node` on.
struct Grower {
  ExtentTree tree;
  std::uint64_t block = 1000, node = 5'000'000;
  std::vector<ExtentTree::NodeGoal> nodes;

  bool grow() {
    if (!tree.append({block, 1}, kBlock, nodes)) return false;
    block += 2;
    for (std::size_t i = 0; i < nodes.size(); ++i) tree.add_node(node++);
    return true;
  }
  void grow_to(std::uint64_t extents) {
    while (tree.extents().size() < extents) ASSERT_TRUE(grow());
  }
};

TEST(ExtentTree, JoinsWhatTouches) {
  ExtentTree tree;
  std::vector<ExtentTree::NodeGoal> nodes;
  ASSERT_TRUE(tree.append({100, 5}, kBlock, nodes));
  ASSERT_TRUE(tree.append({105, 3}, kBlock, nodes));
  ASSERT_EQ(tree.extents().size(), 1u);
  EXPECT_EQ(tree.extents()[0].count, 8u);
  EXPECT_EQ(tree.next_block(), 108u);
  ASSERT_TRUE(tree.append({109, 1}, kBlock, nodes));
  ASSERT_TRUE(tree.append({90, 1}, kBlock, nodes));
  EXPECT_EQ(tree.extents().size(), 3u);
  EXPECT_EQ(tree.blocks(), 10u);
  // An extent has at most 32,768 blocks.
  ExtentTree longest;
  ASSERT_TRUE(longest.append({1, 32760}, kBlock, nodes));
  ASSERT_TRUE(longest.append({32761, 8}, kBlock, nodes));
  EXPECT_EQ(longest.extents().size(), 1u);
  ASSERT_TRUE(longest.append({32769, 1}, kBlock, nodes));
  EXPECT_EQ(longest.extents().size(), 2u);
}

TEST(ExtentTree, AsksForNodesWhenItIsFull) {
  Grower g;
  g.grow_to(4);
  EXPECT_TRUE(g.nodes.empty()) << "four fit into the inode";
  ASSERT_TRUE(g.grow());
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].kind, NodeKind::inode);
  g.grow_to(kPerNode);
  EXPECT_TRUE(g.nodes.empty());
  const std::uint64_t behind = g.tree.next_block();
  ASSERT_TRUE(g.grow());
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].kind, NodeKind::data);
  EXPECT_EQ(g.nodes[0].block, behind);
  // Four leaves are full. The inode's entries move to an index node just before the first leaf.
  g.grow_to(4 * kPerNode);
  ASSERT_TRUE(g.grow());
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].kind, NodeKind::before);
  EXPECT_EQ(g.nodes[0].block, 5'000'000u - 1);
  EXPECT_EQ(g.nodes[1].kind, NodeKind::data);
  // The index node is full. It needs another index node and a leaf below it.
  g.grow_to(kPerNode * kPerNode);
  ASSERT_TRUE(g.grow());
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].kind, NodeKind::data);
  EXPECT_EQ(g.nodes[1].kind, NodeKind::data);
  while (g.tree.extents().size() < 4 * kPerNode * kPerNode) ASSERT_TRUE(g.grow());
  EXPECT_FALSE(g.grow()) << "of more than depth 2";
}

TEST(ExtentTree, FreesEverythingOnceFromTheEnd) {
  for (const std::uint64_t extents :
       {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{5}, kPerNode, kPerNode + 1,
        4 * kPerNode + 1, kPerNode * kPerNode + 1}) {
    Grower g;
    g.grow_to(extents);
    const std::uint64_t nodes = g.node - 5'000'000;
    std::set<std::uint64_t> freed;
    std::uint64_t last_data = UINT64_MAX;
    g.tree.empty([&](const BlockRange& run, bool file_data) {
      EXPECT_TRUE(freed.insert(run.first).second) << run.first;
      EXPECT_EQ(file_data, run.first < 5'000'000) << run.first;
      if (run.first >= 5'000'000) return;
      EXPECT_LT(run.first, last_data);
      last_data = run.first;
    });
    EXPECT_EQ(freed.size(), extents + nodes) << extents;
    EXPECT_EQ(g.tree.blocks(), 0u);
    EXPECT_TRUE(g.grow()) << "it can be written again";
    EXPECT_TRUE(g.nodes.empty());
  }
}

}  // namespace
}  // namespace e4r::age
