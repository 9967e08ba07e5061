// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ext4/blocks.h"

namespace e4r::age {

// The extent tree of a file that grows at its end and is emptied whole: its extents and the blocks
// of its nodes (fs/ext4/extents.c, Linux 6.1). Four entries fit into the inode.
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

  // Appends a run of at most 32,768 blocks to the file. `nodes` receives the places where the
  // kernel wants new nodes, in the order of its requests; add_node() must follow for each. Returns
  // false if a tree of depth 2 cannot hold so many extents.
  [[nodiscard]] bool append(const BlockRange& run, std::uint32_t block_size,
                            std::vector<NodeGoal>& nodes);
  void add_node(std::uint64_t block);

  // Calls free(run, whether it is the file's data) for everything that emptying the file frees, in
  // the kernel's order.
  template <class Free>
  void empty(Free free);

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::span<const BlockRange> extents() const { return extents_; }
  // The block behind the last one; 0 for an empty file.
  [[nodiscard]] std::uint64_t next_block() const {
    return extents_.empty() ? 0 : extents_.back().end();
  }

 private:
  static constexpr std::uint64_t kRoot = 4;
  static constexpr std::uint64_t kLongest = 1 << 15;  // blocks of a written extent

  std::vector<BlockRange> extents_;
  std::vector<std::uint64_t> leaves_;  // blocks; empty: the extents are in the inode
  std::vector<std::uint64_t>
      indexes_;               // nodes above the leaves; empty: the inode holds their entries
  std::vector<bool> wanted_;  // nodes still to be added: whether each is a leaf
  std::uint64_t node_entries_ = 0;
  std::uint64_t blocks_ = 0;
};

template <class Free>
void ExtentTree::empty(Free free) {
  const std::uint64_t per_leaf = node_entries_;
  while (!extents_.empty()) {
    free(extents_.back(), true);
    extents_.pop_back();
    if (leaves_.empty() || extents_.size() > (leaves_.size() - 1) * per_leaf) continue;
    free(BlockRange{leaves_.back(), 1}, false);
    leaves_.pop_back();
    if (indexes_.empty() || leaves_.size() > (indexes_.size() - 1) * per_leaf) continue;
    free(BlockRange{indexes_.back(), 1}, false);
    indexes_.pop_back();
  }
  blocks_ = 0;
}

}  // namespace e4r::age
