// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "age/ever_used.h"
#include "age/extent_tree.h"
#include "age/workload.h"
#include "allocator/align.h"
#include "allocator/decider.h"
#include "allocator/decision_hash.h"
#include "allocator/decision_times.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::age {

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
  // "stopped" (util/interrupt.h).
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
