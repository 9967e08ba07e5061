// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

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
// drive that receives no discards keeps space for all of them.
class EverUsed {
 public:
  explicit EverUsed(const state::Source& source);

  // Reports that blocks [first, first + count) were written.
  void add(std::uint64_t first, std::uint64_t count);

  [[nodiscard]] std::uint64_t blocks() const { return pieces(0); }
  // The number of aligned pieces of 2^bits blocks that hold at least one such block.
  [[nodiscard]] std::uint64_t pieces(std::uint32_t bits) const;

 private:
  std::uint64_t blocks_count_;
  std::vector<bool> used_;  // indexed by block
};

// When a file's blocks are allocated.
enum class Writing : std::uint8_t {
  // delalloc: at the next sync, at most 2,048 blocks at a time. Blocks of a file that had been
  // emptied are allocated when it is closed (auto_da_alloc).
  delayed,
  direct,  // nodelalloc: block by block as it is written, while the file is open
};

struct AgerOptions {
  Writing writing = Writing::delayed;
  // Used with nodelalloc: the kernel spreads processes over sixteen parts of a group by their pid.
  std::uint32_t pid = 0;
  // Which files have an extsize, and its size in blocks (policies/forcealign.cc). Such files are
  // written without delayed allocation, one extsize at a time. Data is not written if its request
  // is refused.
  allocator::AlignRules align = {};
  allocator::Tunables tunables = {};
  std::vector<std::uint32_t> inodes;  // by slot; each must exist in the file system
  // True: if a request finds no space, the program continues, and the rest of that write is lost.
  // False: the program ends. A program of the superuser may use the blocks reserved for root.
  bool goes_on_when_full = false;
  // The page cache uses folios as large as the writes (Linux 6.16 and later). If an allocation
  // covers only part of a folio, the rest of the folio is a separate request, and the next request
  // begins after the folio.
  bool large_folios = false;
  // Called for requests that the kernel refuses before its allocator sees them; may be empty.
  std::function<void(const allocator::Request&)> refused_early;
};

// Counts the clusters that commits freed, by the length of the runs that `-o discard` would send to
// the device. A run consists of adjacent clusters of one group that one transaction freed
// (ext4_process_freed_data, Linux 6.1). Without a journal, each freed extent is a run.
struct FreedRuns {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, 32> blocks = {};  // [i]: in runs of 2^i to 2^(i+1) - 1 blocks

  void add(std::uint32_t count);
  // Returns the number of blocks in runs of 2^order blocks or more.
  [[nodiscard]] std::uint64_t blocks_in(std::uint32_t order) const;
};

struct AgerTally {
  std::array<std::uint64_t, kOperationKinds> operations = {};  // indexed by Operation::Kind
  std::uint64_t requests = 0;                                  // to the allocator
  std::uint64_t tree_nodes = 0;                                // requests for nodes of extent trees
  std::uint64_t blocks = 0;                                    // blocks given to files
  std::uint64_t aligned = 0;                                   // requests for files with an extsize
  std::uint64_t refused = 0;     // `aligned` requests for which no aligned extent was found
  std::uint64_t lost_bytes = 0;  // bytes that were not written because of a refusal or no space
  // Requests that failed for lack of space. Always 0 unless programs continue when the file system
  // is full.
  std::uint64_t failed = 0;
  std::uint64_t punched = 0;  // blocks freed by punching holes
  FreedRuns freed;
  allocator::DecisionHash hash;  // hash of all decisions

  [[nodiscard]] std::uint64_t count(Operation::Kind kind) const {
    return operations[static_cast<std::size_t>(kind)];
  }
};

// Performs operations on a file system. Models the part of ext4 (Linux 6.1) between a system call
// and the allocator, which determines the allocation requests. Inodes and directories exist from
// the start. A file either grows at its end (write, append) and is closed after each operation, or
// is written at any offset and stays open until a close operation; one file cannot do both.
// Requests from fallocate and direct I/O come from their writer's CPU, those from writeback from
// CPU 0. With bigalloc, the rest of a file's last cluster counts as mapped: the kernel makes no
// request for it (get_implied_cluster_alloc).
class Ager {
 public:
  // `decider` must decide for the file system of `source` and have every group loaded. Both must
  // outlive the object. The file system must use extents.
  Ager(allocator::Decider& decider, const state::Source& source, AgerOptions options);

  // Performs the operation. Errors: the file system is full; the slot does not exist; the decider
  // failed; "stopped" (util/parallel.h).
  [[nodiscard]] Status apply(const Operation& operation);

  [[nodiscard]] const state::FsState& state() const { return decider_.state(); }
  // The counters are complete once the decider has finished.
  [[nodiscard]] const allocator::Counters& counters() const { return decider_.counters(); }
  // The time that a kernel's code took; empty for a model.
  [[nodiscard]] const allocator::DecisionTimes& times() const { return times_; }
  [[nodiscard]] const AgerTally& tally() const { return tally_; }
  [[nodiscard]] const EverUsed& ever_used() const { return ever_used_; }
  // The files by slot. Files with higher slots are empty.
  [[nodiscard]] const std::vector<ExtentTree>& files() const { return files_; }

 private:
  // The parameters of requests for a part of a file.
  struct Part {
    std::uint32_t slot = 0;
    std::uint64_t logical = 0;
    std::uint64_t blocks = 0;    // requests at most this many blocks
    std::uint64_t i_size = 0;    // bytes
    std::uint64_t grows_to = 0;  // bytes; limit to which allocations extend the file
    std::uint64_t folio = 1;     // blocks
    std::uint32_t flags = 0;     // in addition to hint_data
    bool open = true;            // a program has the file open for writing
    std::uint32_t cpu = 0;
  };
  // The part of a file that waits for writeback.
  struct Dirty {
    BlockSet blocks;             // file blocks
    std::uint64_t reserved = 0;  // blocks reserved for it
    std::uint64_t folio = 1;     // blocks per folio
  };

  void reach(std::uint32_t slot);
  Status commit();
  Status write_back(std::uint32_t slot, bool open);
  Status write_at(const Operation& operation);
  Status write_directly(const Operation& operation);
  Status preallocate(const Operation& operation);
  Status punch(const Operation& operation);
  Status close(std::uint32_t slot);
  // Allocates blocks for every hole in the file blocks [from, to), `most` at a time. Returns false
  // if there was not enough space.
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
  std::vector<bool> was_emptied_;  // emptied, and not written since
  std::vector<bool> is_open_;      // opened by an operation with an offset and not yet closed
  std::vector<BlockRange> freed_;  // freed by the running transaction; each range lies in one group
  std::unordered_map<std::uint32_t, Dirty> dirty_parts_;  // by slot: files written at an offset
  std::uint64_t free_ = 0;  // blocks that the kernel counts as free; it counts freed blocks at once
  std::uint64_t reserved_ = 0;   // blocks reserved for dirty_parts_
  std::uint64_t kept_back_ = 0;  // blocks reserved for emergencies (s_resv_clusters)
  AgerTally tally_;
  allocator::DecisionTimes times_;
  EverUsed ever_used_;
};

}  // namespace e4r::age
