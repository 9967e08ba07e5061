// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "age/workload.h"
#include "allocator/decider.h"
#include "allocator/decision.h"
#include "allocator/kernel.h"
#include "ext4/geometry.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::age {

// The blocks of a device that were in use at the start or were written since. A thin volume or a
// drive that gets no discards keeps room for all of them.
class EverUsed {
 public:
  // The source must not be bigalloc.
  explicit EverUsed(const state::Source& source);

  // Blocks [first, first + count) of the file system are written.
  void add(std::uint64_t first, std::uint64_t count);

  [[nodiscard]] std::uint64_t blocks() const { return pieces(0); }
  // The number of pieces of 2^bits blocks, counted from block 0, that hold such a block.
  [[nodiscard]] std::uint64_t pieces(std::uint32_t bits) const;

 private:
  std::uint64_t blocks_count_;
  std::vector<bool> used_;  // by block
};

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

// When a file's blocks are allocated.
enum class Writing : std::uint8_t {
  // delalloc: at the next sync, at most 2,048 blocks at a time. A file that had been emptied is
  // allocated when it is closed (auto_da_alloc).
  delayed,
  direct,  // nodelalloc: block by block as it is written, while the file is open
};

struct AgerOptions {
  Writing writing = Writing::delayed;
  // nodelalloc: the kernel spreads processes over sixteen parts of a group by their pid.
  std::uint32_t pid = 0;
  // Which files have an extsize, and of how many blocks (policies/forcealign.cc). Such files are
  // written without delayed allocation, an extsize at a time. Data whose request is refused is
  // never written.
  allocator::AlignRules align = {};
  allocator::Tunables tunables = {};
  std::vector<std::uint32_t> inodes;  // by slot; each must exist in the file system
};

// What commits gave back, in the pieces that `-o discard` would send to the device. A piece is a
// run of clusters that one transaction freed in one group (ext4_process_freed_data, Linux 6.1).
// Without a journal, each freed extent is a piece.
struct FreedRuns {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, 32> blocks = {};  // in runs of 2^i to 2^(i+1) - 1 blocks

  void add(std::uint32_t count);
  // Blocks in runs of 2^order blocks or more.
  [[nodiscard]] std::uint64_t blocks_in(std::uint32_t order) const;
};

struct AgerTally {
  std::array<std::uint64_t, 4> operations = {};  // by Operation::Kind
  std::uint64_t requests = 0;                    // to the allocator
  std::uint64_t tree_nodes = 0;                  // requests for nodes of extent trees
  std::uint64_t blocks = 0;                      // blocks given to files
  std::uint64_t aligned = 0;                     // requests of files with an extsize
  std::uint64_t refused = 0;     // aligned ones for which no aligned extent was found
  std::uint64_t lost_bytes = 0;  // bytes that were not written because of a refusal
  FreedRuns freed;
  allocator::DecisionHash hash;  // of all decisions
};

// Performs operations on a file system. Models the part of ext4 (Linux 6.1) between a system call
// and the allocator that decides which requests are made. Files grow at their end and are emptied
// whole. Inodes and directories exist from the start. One CPU, one writer.
class Ager {
 public:
  // `decider` decides for the file system of `source`, with every group loaded. Both must outlive
  // the object. The file system must map files by extents and must not be bigalloc.
  Ager(allocator::Decider& decider, const state::Source& source, AgerOptions options);

  // The Error: the file system is full, the slot does not exist, the decider cannot go on, or
  // "stopped" (util/parallel.h).
  [[nodiscard]] Status apply(const Operation& operation);

  [[nodiscard]] const state::FsState& state() const { return decider_.state(); }
  // Complete once the decider has finished.
  [[nodiscard]] const allocator::Counters& counters() const { return decider_.counters(); }
  // The time that a kernel's code took; empty for a model.
  [[nodiscard]] const allocator::DecisionTimes& times() const { return times_; }
  [[nodiscard]] const AgerTally& tally() const { return tally_; }
  [[nodiscard]] const EverUsed& ever_used() const { return ever_used_; }
  // By slot. Files behind the last one are empty.
  [[nodiscard]] const std::vector<ExtentTree>& files() const { return files_; }

 private:
  void reach(std::uint32_t slot);
  Status sync();
  Status write(std::uint32_t slot, std::uint64_t bytes);
  Status fill(std::uint32_t slot, std::uint64_t had, bool open);
  Result<bool> allocate_blocks(std::uint32_t slot, std::uint64_t want, std::uint64_t i_size,
                               bool open);
  Status put(std::uint32_t slot, const BlockRange& run);
  [[nodiscard]] Result<std::uint64_t> new_node(std::uint32_t slot,
                                               const ExtentTree::NodeGoal& goal);
  [[nodiscard]] std::uint32_t extsize(std::uint32_t slot) const;
  void cut_short(std::uint32_t slot);
  [[nodiscard]] Result<allocator::Decision> decide(const allocator::Request& request,
                                                   std::string_view what,
                                                   bool may_be_refused = false);
  Status empty(std::uint32_t slot);
  void free(const BlockRange& run, bool file_data);
  void count_freed();
  [[nodiscard]] std::uint64_t inode_goal(std::uint32_t slot) const;

  const state::MountedGeometry& geometry_;
  allocator::Decider& decider_;
  AgerOptions options_;
  std::vector<ExtentTree> files_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint32_t> dirty_;  // slots, in the order in which they became dirty
  std::vector<bool> is_dirty_;
  std::vector<bool> was_emptied_;  // and not written since
  std::vector<BlockRange> freed_;  // freed by the running transaction; each within one group
  AgerTally tally_;
  allocator::DecisionTimes times_;
  EverUsed ever_used_;
};

}  // namespace e4r::age
