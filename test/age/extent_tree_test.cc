// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "age/extent_tree.h"
#include "util/rng.h"

namespace e4r::age {
namespace {

using NodeKind = ExtentTree::NodeGoal::Kind;

constexpr std::uint32_t kBlock = 1024;                  // bytes
constexpr std::uint64_t kPerNode = (kBlock - 12) / 12;  // entries

// Appends separate extents of one block each. The first node block is `node`, the next one follows
// it, and so on.
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
    while (tree.count() < extents) ASSERT_TRUE(grow());
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
  while (g.tree.count() < 4 * kPerNode * kPerNode) ASSERT_TRUE(g.grow());
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

// A plain map of the file's blocks, as a reference for the extent tree.
class PlainFile {
 public:
  void insert(const ExtentTree::Mapped& mapped) {
    for (std::uint64_t i = 0; i < mapped.run.count; ++i)
      map_[mapped.logical + i] = mapped.run.first + i;
  }
  void punch(std::uint64_t from, std::uint64_t to) {
    map_.erase(map_.lower_bound(from), map_.lower_bound(to));
  }
  [[nodiscard]] bool has(std::uint64_t logical) const { return map_.contains(logical); }
  void compare(const ExtentTree& tree) const {
    auto at = map_.begin();
    for (const ExtentTree::Mapped& extent : tree.mapped())
      for (std::uint64_t i = 0; i < extent.run.count; ++i, ++at) {
        ASSERT_NE(at, map_.end());
        ASSERT_EQ(at->first, extent.logical + i);
        ASSERT_EQ(at->second, extent.run.first + i);
      }
    ASSERT_EQ(at, map_.end());
    ASSERT_EQ(tree.blocks(), map_.size());
  }

 private:
  std::map<std::uint64_t, std::uint64_t> map_;
};

TEST(ExtentTree, HoldsWhatAPlainMapHolds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    ExtentTree tree;
    PlainFile plain;
    std::vector<ExtentTree::NodeGoal> nodes;
    std::set<std::uint64_t> tree_blocks;
    std::uint64_t block = 1000, node = 5'000'000;
    const auto add_nodes = [&] {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        tree_blocks.insert(node);
        tree.add_node(node++);
      }
    };
    const auto freed = [&](const BlockRange& run, bool file_data) {
      if (file_data) return;
      EXPECT_EQ(tree_blocks.erase(run.first), 1u) << run.first;
    };
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t from = rng.below(4000);
      if (rng.chance(1, 4)) {
        const std::uint64_t to = from + rng.between(1, 40);
        ASSERT_TRUE(tree.punch(from, to, kBlock, nodes, freed));
        add_nodes();
        plain.punch(from, to);
      } else {
        std::uint64_t count = 0;
        while (count < 5 && !plain.has(from + count)) ++count;
        if (count == 0) continue;
        const ExtentTree::Mapped mapped = {from, {block, count}};
        block += count + rng.below(2);
        ASSERT_TRUE(tree.insert(mapped, kBlock, nodes));
        add_nodes();
        plain.insert(mapped);
      }
      if (step % 100 == 0) plain.compare(tree);
    }
    plain.compare(tree);
    tree.empty(freed);
    EXPECT_EQ(tree.blocks(), 0u);
    EXPECT_TRUE(tree_blocks.empty()) << "nodes that nobody freed, seed " << seed;
  }
}

TEST(ExtentTree, KnowsNeighboursAndGoals) {
  ExtentTree tree;
  std::vector<ExtentTree::NodeGoal> nodes;
  EXPECT_FALSE(tree.goal_of(7).has_value());
  ASSERT_TRUE(tree.insert({100, {5000, 10}}, kBlock, nodes));
  ASSERT_TRUE(tree.insert({200, {7000, 10}}, kBlock, nodes));
  EXPECT_EQ(tree.goal_of(110), 5010u);
  EXPECT_EQ(tree.goal_of(150), 5050u);
  EXPECT_EQ(tree.goal_of(90), 4990u) << "in front of the first extent";
  EXPECT_EQ(tree.goal_of(205), 7005u);
  const ExtentTree::Neighbours between = tree.around(150);
  ASSERT_TRUE(between.left && between.right);
  EXPECT_EQ(between.left->logical, 100u);
  EXPECT_EQ(between.right->logical, 200u);
  EXPECT_FALSE(tree.around(50).left);
  EXPECT_FALSE(tree.around(300).right);
  // The extent that closes the gap merges with both neighbours.
  ASSERT_TRUE(tree.insert({110, {5010, 5}}, kBlock, nodes));
  ASSERT_TRUE(tree.insert({116, {5016, 4}}, kBlock, nodes));
  ASSERT_TRUE(tree.insert({115, {5015, 1}}, kBlock, nodes));
  EXPECT_EQ(tree.count(), 2u);
}

}  // namespace
}  // namespace e4r::age
