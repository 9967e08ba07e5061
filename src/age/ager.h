// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "age/block_set.h"
#include "age/extent_tree.h"
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
  // What a program does whose request finds no space: it ends, or the rest of that write is lost
  // and it goes on. A superuser's program may use the blocks reserved for root.
  bool goes_on_when_full = false;
  // The page cache has folios as large as the writes (Linux 6.16 on). A folio that an allocation
  // covers in part gets a request of its own, and the next request begins behind it.
  bool large_folios = false;
  // Told of requests that the kernel refuses before its allocator sees them; may be empty.
  std::function<void(const allocator::Request&)> refused_early;
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
  std::array<std::uint64_t, kOperationKinds> operations = {};  // by Operation::Kind
  std::uint64_t requests = 0;                                  // to the allocator
  std::uint64_t tree_nodes = 0;                                // requests for nodes of extent trees
  std::uint64_t blocks = 0;                                    // blocks given to files
  std::uint64_t aligned = 0;                                   // requests of files with an extsize
  std::uint64_t refused = 0;     // aligned ones for which no aligned extent was found
  std::uint64_t lost_bytes = 0;  // bytes that were not written because of a refusal or no space
  // Requests without a result: there was no space. Only for programs that go on.
  std::uint64_t failed = 0;
  std::uint64_t punched = 0;  // blocks that holes gave back
  FreedRuns freed;
  allocator::DecisionHash hash;  // of all decisions

  [[nodiscard]] std::uint64_t count(Operation::Kind kind) const {
    return operations[static_cast<std::size_t>(kind)];
  }
};

// Performs operations on a file system. Models the part of ext4 (Linux 6.1) between a system call
// and the allocator that decides which requests are made. Inodes and directories exist from the
// start. A file grows at its end (write, append), and is closed after each of these operations, or
// it is written at any place (the operations with an offset), and stays open until it is closed:
// not both. Requests of fallocate and of direct I/O come from their writer's CPU, those of
// writeback from CPU 0. With bigalloc, a file's part of a cluster counts as mapped to the cluster's
// end: the kernel makes no request for what lies there (get_implied_cluster_alloc).
class Ager {
 public:
  // `decider` decides for the file system of `source`, with every group loaded. Both must outlive
  // the object. The file system must map files by extents.
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
  // What a part of a file asks the allocator for.
  struct Part {
    std::uint32_t slot = 0;
    std::uint64_t logical = 0;
    std::uint64_t blocks = 0;    // at most so many
    std::uint64_t i_size = 0;    // bytes
    std::uint64_t grows_to = 0;  // the file's size grows with what is allocated, up to this; bytes
    std::uint64_t folio = 1;     // blocks
    std::uint32_t flags = 0;     // beside hint_data
    bool open = true;            // a program has the file open for writing
    std::uint32_t cpu = 0;
  };
  // What of a file waits for writeback.
  struct Dirty {
    BlockSet blocks;             // of the file
    std::uint64_t reserved = 0;  // blocks that were promised to it
    std::uint64_t folio = 1;     // blocks of a folio
  };

  void reach(std::uint32_t slot);
  Status commit();
  Status write_back(std::uint32_t slot, bool open);
  Status write_at(const Operation& operation);
  Status write_directly(const Operation& operation);
  Status preallocate(const Operation& operation);
  Status punch(const Operation& operation);
  Status close(std::uint32_t slot);
  // Gives blocks to every hole of the file's blocks [from, to), `most` at a time. False: there was
  // no space for all.
  Result<bool> map_holes(Part part, std::uint64_t from, std::uint64_t to, std::uint64_t most);
  [[nodiscard]] BlockSpan next_hole(std::uint32_t slot, std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] std::uint64_t holes(std::uint32_t slot, std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] std::uint64_t end_block(const Operation& operation) const;
  [[nodiscard]] bool has_room(std::uint64_t blocks, bool reserved) const;
  Result<bool> give_blocks(const Part& part, bool may_be_refused, std::string_view what);
  Status add_nodes(std::uint32_t slot, const std::vector<ExtentTree::NodeGoal>& nodes);
  Status sync();
  Status write(std::uint32_t slot, std::uint64_t bytes);
  Status fill(std::uint32_t slot, std::uint64_t had, bool open);
  Result<bool> allocate_blocks(std::uint32_t slot, std::uint64_t want, std::uint64_t i_size,
                               bool open);
  Status put(std::uint32_t slot, const ExtentTree::Mapped& mapped);
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
  std::vector<bool> is_open_;      // by operations with an offset; until it is closed
  std::vector<BlockRange> freed_;  // freed by the running transaction; each within one group
  std::unordered_map<std::uint32_t, Dirty> dirty_parts_;  // by slot: files written at any place
  std::uint64_t free_ = 0;       // blocks that the kernel counts as free: freed ones are, at once
  std::uint64_t reserved_ = 0;   // for what waits for writeback in dirty_parts_
  std::uint64_t kept_back_ = 0;  // blocks for emergencies alone (s_resv_clusters)
  AgerTally tally_;
  allocator::DecisionTimes times_;
  EverUsed ever_used_;
};

}  // namespace e4r::age
