// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "allocator/counters.h"
#include "allocator/decision.h"
#include "allocator/discards.h"
#include "allocator/observer.h"
#include "allocator/policy.h"
#include "allocator/request.h"
#include "allocator/tunables.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::allocator {

// The contents of a kernel's files in /proc/fs/ext4/DEVICE.
struct KernelAccount {
  std::string mb_groups;
  std::string mb_stats;  // empty if the kernel lacks it, like most before 5.13 (Counters::complete)
};

// Decides where blocks go, and holds the state of the file system. It is either the model (Model)
// or the code of a kernel (guest::KernelDecider). Replay and ageing use only this interface.
//
// The groups and clusters that a caller names must exist. Not thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  // Serves a request of at least one cluster. Only the model follows a guide.
  virtual Decision allocate(const Request& request, Guide* guide) = 0;
  // Frees clusters of one group. They can be allocated again when the running transaction has
  // ended, or at once, depending on the mount. `file_data` says whether they belong to a regular
  // file. Returns false and changes nothing if some of them cannot be freed.
  virtual bool free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                    bool file_data) = 0;
  // Returns clusters that were just handed out and are not needed.
  virtual bool give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) = 0;
  // Begins to commit the running transaction. Later frees belong to the next one. If the commit of
  // the previous transaction is still in progress, it ends first.
  virtual void begin_commit() = 0;
  // Ends the commit in progress.
  virtual void end_commit() = 0;
  // Records that the commit in progress has returned the clusters freed up to event `event` of the
  // trace, but has not ended.
  virtual void commit_until(std::uint64_t event) = 0;
  // Records that the commit in progress has probably returned the clusters freed up to an event.
  // This affects only how later frees merge (state::FreedMerging).
  virtual void unlink_until(std::uint64_t event) = 0;
  // Makes clusters look free (`free`) or in use to the next decision. Its search passed their group
  // before another thread changed them. Does nothing unless all clusters have the other state. The
  // true state returns after the decision.
  virtual void pretend(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                       bool free) = 0;
  // Sets the event of the trace to which later frees belong.
  virtual void note_event(std::uint64_t event) = 0;
  // With -o discard, lets the worker send at most `most` discards for clusters that commits have
  // returned (Discards::work). Returns how many it sent.
  virtual std::uint64_t send_discards(std::uint64_t most) = 0;
  // Continues a FITRIM in one group and discards at most `most` runs. Returns how many it
  // discarded.
  virtual std::uint64_t trim(Trim& trim, std::uint64_t most) = 0;
  // Takes the free clusters of the range and gives them back, as a discard does. Used for a discard
  // whose details are unknown.
  virtual void touch(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) = 0;

  // Releases preallocations of the inode (ext4_discard_preallocations): the `needed` least recently
  // used ones, or all when `needed` is 0.
  virtual void discard_inode(std::uint64_t ino, std::uint32_t needed) = 0;
  // Report that an inode was created, or deleted.
  virtual void make_inode(std::uint64_t ino) = 0;
  virtual void drop_inode(std::uint64_t ino) = 0;

  // Both generate the group's buddy unless it is loaded. load_group() is for a free in the group,
  // load_by_others() for a thread that does not allocate (the lazy-init thread, a read of
  // mb_groups).
  virtual void load_group(std::uint32_t group) = 0;
  virtual void load_by_others(std::uint32_t group) = 0;
  // Records that the buddy of a loaded group was regenerated.
  virtual void note_reload(std::uint32_t group) = 0;
  // Records that the buddy of a loaded group was reclaimed. The next request whose search uses the
  // group regenerates it.
  virtual void reclaim(std::uint32_t group) = 0;
  // Records that the lazy-init thread has read the bitmaps of the groups [first, next). The range
  // may wrap around the last group.
  virtual void mark_read(std::uint32_t first, std::uint32_t next) = 0;
  // Uses these tunables from now on. The mount fixes mb_stripe, mb_optimize_scan and possible_cpus,
  // so these three keep their values.
  virtual void retune(const Tunables& tunables) = 0;

  // The current state of the file system. FsState::settled_words is exact for every decider. It
  // gives the bitmaps as they are after all preallocations are discarded and all frees committed.
  [[nodiscard]] virtual const state::FsState& state() const = 0;
  // The allocator's counters. They are complete after finish().
  [[nodiscard]] virtual const Counters& counters() const = 0;
  [[nodiscard]] virtual const Policy& policy() const = 0;
  [[nodiscard]] virtual const Tunables& tunables() const = 0;

  // Sets the observer of later decisions; null removes it. Only the model reports its steps.
  virtual void observe(SearchObserver* observer) = 0;
  // Records the locks of every request from now on. `notes` must outlive the decider. This makes a
  // kernel's requests slower.
  virtual void note_locks(LockNotes& notes) = 0;
  // Returns an Error once the decider can no longer decide. From then on, every other call does
  // nothing.
  [[nodiscard]] virtual Status status() const = 0;
  // Ends the decider's work. The caller makes no further requests.
  [[nodiscard]] virtual Status finish() = 0;
  // The kernel's files, after finish(); null when no kernel decides.
  [[nodiscard]] virtual const KernelAccount* account() const = 0;
  // The discards sent to the device. Null unless this is a model of a mount with -o discard, or a
  // FITRIM has run.
  [[nodiscard]] virtual const Discards* discards() const = 0;
};

}  // namespace e4r::allocator
