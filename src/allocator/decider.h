// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "allocator/counters.h"
#include "allocator/decision.h"
#include "allocator/discards.h"
#include "allocator/guide.h"
#include "allocator/lock_steps.h"
#include "allocator/observer.h"
#include "allocator/policy.h"
#include "allocator/request.h"
#include "allocator/tunables.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::allocator {

// What a kernel says of itself: the files of /proc/fs/ext4/DEVICE.
struct KernelAccount {
  std::string mb_groups, mb_stats;
};

// Decides where blocks go, and holds the file system for which it decides. It is the model (Model)
// or the code of a kernel (guest::Kernel). Replay and ageing know no more than this interface.
//
// Groups and clusters that a call names exist. Not thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  // Serves one request, of at least one cluster. A guide leads the model alone.
  virtual Decision allocate(const Request& request, Guide* guide) = 0;
  // Frees clusters of one group. The mount decides when they are usable again: when the running
  // transaction has ended, or at once. `file_data`: they are a regular file's. False, and nothing
  // changes, when some of them cannot be freed.
  virtual bool free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                    bool file_data) = 0;
  // Returns clusters that were handed out a moment ago and are not needed.
  virtual bool give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) = 0;
  // The running transaction begins to commit: it takes no more frees. The transaction before it has
  // ended.
  virtual void begin_commit() = 0;
  // The transaction that began to commit has ended.
  virtual void end_commit() = 0;
  // With -o discard: the worker sends the device at most so many discards of what commits have
  // given back (Discards::work). Returns how many.
  virtual std::uint64_t send_discards(std::uint64_t) { return 0; }
  // FITRIM in one group goes on, until it has sent at most so many runs. Returns how many.
  virtual std::uint64_t trim(Trim& trim, std::uint64_t) {
    trim.done = true;
    return 0;
  }
  // What is free of the clusters is in use and free again: a discard of which nothing is known.
  virtual void touch(std::uint32_t, std::uint32_t, std::uint32_t) {}

  // Releases the inode's preallocations (ext4_discard_preallocations): all, or the `needed` least
  // recently used ones when that is not 0.
  virtual void discard_inode(std::uint64_t ino, std::uint32_t needed) = 0;
  // An inode was made, or is gone.
  virtual void make_inode(std::uint64_t ino) = 0;
  virtual void drop_inode(std::uint64_t ino) = 0;

  // Generates the group's buddy if there is none, for a free in the group or for a caller that does
  // not allocate (the lazy-init thread, a read of mb_groups).
  virtual void load_group(std::uint32_t group) = 0;
  virtual void load_by_others(std::uint32_t group) = 0;
  // The buddy of a group that is loaded was generated again.
  virtual void note_reload() = 0;
  // The lazy-init thread has read the bitmaps of the groups [first, next), past the last group to
  // group 0.
  virtual void mark_read(std::uint32_t first, std::uint32_t next) = 0;
  // Decides by these tunables from now on. What a mount settles stays: mb_stripe, mb_optimize_scan,
  // possible_cpus.
  virtual void retune(const Tunables& tunables) = 0;

  // The file system as it is now: what is free of it when preallocations and uncommitted frees are
  // settled (FsState::settled_words) is exact, whoever decides.
  [[nodiscard]] virtual const state::FsState& state() const = 0;
  // Complete after finish().
  [[nodiscard]] virtual const Counters& counters() const = 0;
  [[nodiscard]] virtual const Policy& policy() const = 0;
  [[nodiscard]] virtual const Tunables& tunables() const = 0;

  // The observer of the next decisions; null: none. Only the model tells its steps.
  virtual void observe(SearchObserver*) {}
  // From now on the locks of every request are noted; the notes must outlive the decider. A
  // kernel's requests take longer so. Nothing is noted by a decider that stands before another one.
  virtual void note_locks(LockNotes&) {}
  // An Error once it cannot decide any more. After that, every call does nothing.
  [[nodiscard]] virtual Status status() const { return {}; }
  // Nothing more will be asked.
  [[nodiscard]] virtual Status finish() { return {}; }
  // The kernel's files, after finish(); null when it is no kernel.
  [[nodiscard]] virtual const KernelAccount* account() const { return nullptr; }
  // What was sent to the device; null unless it is a model, on a mount that discards or on which
  // FITRIM was at work.
  [[nodiscard]] virtual const Discards* discards() const { return nullptr; }
};

}  // namespace e4r::allocator
