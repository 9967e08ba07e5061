// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ext4/geometry.h"

namespace e4r::age {

// The extent tree of a file: its extents and the blocks of its nodes (fs/ext4/extents.c, Linux
// 6.1). Four entries fit into the inode. Extents that the kernel keeps as unwritten count as
// written ones, so a file that is written in small parts after fallocate has fewer extents here.
class ExtentTree {
 public:
  // Where the kernel wants a new node.
  struct NodeGoal {
    enum class Kind : std::uint8_t {
      inode,   // where the inode's first data would be
      before,  // this block, or a place before it: in front of the node that was the first
      data,    // where it wants the data that needs the node
    };
    Kind kind = Kind::inode;
    std::uint64_t block = 0;
  };

  // Blocks of the file from `logical` on, and their place on the device.
  struct Mapped {
    std::uint64_t logical = 0;
    BlockRange run;
    [[nodiscard]] std::uint64_t end() const { return logical + run.count; }
    friend bool operator==(const Mapped&, const Mapped&) = default;
  };

  // Takes a run that emptying or a hole frees, and whether it is the file's data.
  using Freed = std::function<void(const BlockRange& run, bool file_data)>;

  // Appends a run of at most 32,768 blocks to the file. `nodes` receives the places where the
  // kernel wants new nodes, in the order of its requests; add_node() must follow for each. Returns
  // false if a tree of depth 2 cannot hold so many extents.
  [[nodiscard]] bool append(const BlockRange& run, std::uint32_t block_size,
                            std::vector<NodeGoal>& nodes) {
    return insert({end(), run}, block_size, nodes);
  }
  // The same at any place of the file, which must be a hole.
  [[nodiscard]] bool insert(const Mapped& mapped, std::uint32_t block_size,
                            std::vector<NodeGoal>& nodes);
  // The block of the next node. 0: there was no room for it; it is never freed.
  void add_node(std::uint64_t block);

  // Frees everything, in the kernel's order.
  void empty(const Freed& freed) { remove(0, UINT64_MAX, freed); }
  // Punches a hole of the file's blocks [from, to), in the kernel's order. If the hole lies inside
  // an extent, `nodes` receives new nodes as for insert(). False: the tree cannot hold one more
  // extent, and nothing was freed.
  [[nodiscard]] bool punch(std::uint64_t from, std::uint64_t to, std::uint32_t block_size,
                           std::vector<NodeGoal>& nodes, const Freed& freed);

  // Blocks that the file has.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t count() const;  // of extents
  [[nodiscard]] std::vector<BlockRange> extents() const;
  [[nodiscard]] std::vector<Mapped> mapped() const;
  // The block of the file behind its last extent.
  [[nodiscard]] std::uint64_t end() const { return is_empty() ? 0 : last().end(); }
  // The block of the device behind the last extent; 0 for an empty file.
  [[nodiscard]] std::uint64_t next_block() const { return is_empty() ? 0 : last().run.end(); }

  // The extent that has the block of the file or ends before it, and the next one.
  struct Neighbours {
    std::optional<Mapped> left, right;
  };
  [[nodiscard]] Neighbours around(std::uint64_t logical) const;
  // Where the kernel wants the data of that block of the file, by the extent nearest to it
  // (ext4_ext_find_goal). Empty: the file has no extent.
  [[nodiscard]] std::optional<std::uint64_t> goal_of(std::uint64_t logical) const;

 private:
  static constexpr std::uint64_t kRoot = 4;
  static constexpr std::uint64_t kLongest = 1 << 15;  // blocks of a written extent

  struct Leaf {
    std::uint64_t block = 0;
    std::vector<Mapped> extents;
  };
  struct Index {
    std::uint64_t block = 0;
    std::uint64_t leaves = 0;
  };
  // The place of an extent. Without leaves, the leaf is 0: the root.
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

  std::vector<Mapped> root_;    // extents in the inode; empty as soon as there are leaves
  std::vector<Leaf> leaves_;    // ascending
  std::vector<Index> indexes_;  // nodes above the leaves; empty: the inode holds their entries
  // Nodes that have no block yet: a leaf's index, or an index node's.
  std::vector<std::pair<bool, std::size_t>> wanted_;
  std::uint64_t node_entries_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace e4r::age
