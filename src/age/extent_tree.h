// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ext4/geometry.h"

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

// The extent tree of a file: its extents and the blocks of its nodes (fs/ext4/extents.c, Linux
// 6.1). Four entries fit into the inode. Unwritten extents are treated as written ones, so a file
// that is written in small parts after fallocate has fewer extents here than in the kernel.
class ExtentTree {
 public:
  // Where the kernel wants a new node.
  struct NodeGoal {
    enum class Kind : std::uint8_t {
      inode,   // where the inode's first data block would go
      before,  // at or before `block`, which lies in front of the first leaf
      data,    // the goal of the data that needs the node
    };
    Kind kind = Kind::inode;
    std::uint64_t block = 0;
  };

  // File blocks from `logical` on, and their device blocks.
  struct Mapped {
    std::uint64_t logical = 0;
    BlockRange run;
    [[nodiscard]] std::uint64_t end() const { return logical + run.count; }
    friend bool operator==(const Mapped&, const Mapped&) = default;
  };

  // Receives each freed run. `file_data` says whether it holds the file's data.
  using Freed = std::function<void(const BlockRange& run, bool file_data)>;

  // Appends a run of at most 32,768 blocks to the file. `nodes` receives the goals of the new nodes
  // that the kernel allocates, in the order of its requests; the caller must call add_node() for
  // each. Returns false if a tree of depth 2 cannot hold another extent.
  [[nodiscard]] bool append(const BlockRange& run, std::uint32_t block_size,
                            std::vector<NodeGoal>& nodes) {
    return insert({end(), run}, block_size, nodes);
  }
  // Inserts a run at any offset of the file. The file blocks of the run must be a hole. In all
  // other respects, insert() works like append().
  [[nodiscard]] bool insert(const Mapped& mapped, std::uint32_t block_size,
                            std::vector<NodeGoal>& nodes);
  // Sets the block of the next new node; 0 if there was no space for it. Block 0 is never freed.
  void add_node(std::uint64_t block);

  // Frees all blocks, in the kernel's order.
  void empty(const Freed& freed) { remove(0, UINT64_MAX, freed); }
  // Frees the file blocks [from, to), in the kernel's order. If the hole lies inside an extent,
  // `nodes` receives new nodes as for insert(). Returns false and frees nothing if the tree cannot
  // hold one more extent.
  [[nodiscard]] bool punch(std::uint64_t from, std::uint64_t to, std::uint32_t block_size,
                           std::vector<NodeGoal>& nodes, const Freed& freed);

  // The number of blocks of the file.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t count() const;  // number of extents
  [[nodiscard]] std::vector<BlockRange> extents() const;
  [[nodiscard]] std::vector<Mapped> mapped() const;
  // The file block after the last extent.
  [[nodiscard]] std::uint64_t end() const { return is_empty() ? 0 : last().end(); }
  // The device block after the last extent; 0 for an empty file.
  [[nodiscard]] std::uint64_t next_block() const { return is_empty() ? 0 : last().run.end(); }

  // The extent that contains a file block or ends before it, and the extent after that one.
  struct Neighbours {
    std::optional<Mapped> left, right;
  };
  [[nodiscard]] Neighbours around(std::uint64_t logical) const;
  // The goal for that file block, derived from the nearest extent (ext4_ext_find_goal); nullopt if
  // the file has no extent.
  [[nodiscard]] std::optional<std::uint64_t> goal_of(std::uint64_t logical) const;

 private:
  static constexpr std::uint64_t kRoot = 4;
  static constexpr std::uint64_t kLongest = 1
                                            << 15;  // maximum number of blocks of a written extent

  struct Leaf {
    std::uint64_t block = 0;
    std::vector<Mapped> extents;
  };
  struct Index {
    std::uint64_t block = 0;
    std::uint64_t leaves = 0;
  };
  // The position of an extent in the tree. If there are no leaves, `leaf` is 0, which stands for
  // the root.
  struct Place {
    std::size_t leaf = 0;
    std::size_t at = 0;
  };

  [[nodiscard]] bool is_empty() const { return blocks_ == 0; }
  [[nodiscard]] const Mapped& last() const {
    return leaves_.empty() ? root_.back() : leaves_.back().extents.back();
  }
  [[nodiscard]] std::vector<Mapped>& in(std::size_t leaf) {
    return leaves_.empty() ? root_ : leaves_[leaf].extents;
  }
  [[nodiscard]] const std::vector<Mapped>& in(std::size_t leaf) const {
    return leaves_.empty() ? root_ : leaves_[leaf].extents;
  }
  [[nodiscard]] std::optional<Place> place_of(std::uint64_t logical) const;
  bool merge(const Mapped& mapped, const Place& place);
  bool put(const Mapped& mapped, std::vector<NodeGoal>& nodes);
  bool split_leaf(const Mapped& mapped, const Place& place, std::vector<NodeGoal>& nodes);
  void remove(std::uint64_t from, std::uint64_t to, const Freed& freed);
  void remove_leaf(std::size_t leaf, const Freed& freed);
  [[nodiscard]] std::size_t index_of(std::size_t leaf, std::size_t& within) const;

  std::vector<Mapped> root_;  // extents in the inode; empty if there are leaves
  std::vector<Leaf> leaves_;  // ascending
  std::vector<Index>
      indexes_;  // nodes above the leaves; empty if the inode holds the entries of the leaves
  // Nodes without a block so far. `first` says whether it is a leaf; `second` is its index.
  std::vector<std::pair<bool, std::size_t>> wanted_;
  std::uint64_t node_entries_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace e4r::age
