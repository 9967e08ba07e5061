// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state/free_index.h"
#include "state/freed_list.h"
#include "state/group.h"
#include "state/group_set.h"
#include "state/mounted_geometry.h"
#include "util/recent_map.h"
#include "util/status.h"

namespace e4r::state {

// One group of the start image. `words` is not copied: it must outlive every FsState made from it
// and holds at least clusters_per_group bits, those past the group's end set.
struct GroupSource {
  bitmap::ConstWords words;
  std::uint32_t disk_free = 0;  // descriptor's free clusters
  std::uint32_t init_free = 0;  // what the kernel sets bb_free to at mount
  bool block_uninit = false;
  bool corrupt = false;
};

struct Source {
  MountedGeometry geometry;
  std::vector<GroupSource> groups;
  std::vector<BlockRange> metadata;  // ascending, disjoint; nothing may be allocated on it
};

// What is kept of the loaded groups by the order of their largest free chunk and of their average
// free extent.
enum class GroupIndex : std::uint8_t {
  none,
  lists,            // in the order of arrival (Linux 6.1)
  lists_keep_full,  // the same; a group that becomes full stays on its average-fragment list
                    // (Linux 6.5 to 6.16)
  sets,             // in ascending order (Linux from 6.12.77 and 6.17 on)
};

// The two arrays of order lists.
enum class OrderLists : std::uint8_t { largest, average };

// The state that an allocator works on: groups with bitmap, buddy and counters, the two arrays of
// order lists, preallocations, and clusters waiting for a commit. Model of Linux 6.1 mballoc with
// one CPU's worth of concurrency (none). Not thread-safe; several states may share one Source.
class FsState {
 public:
  FsState(const Source& source, GroupIndex index, FreedMerging merging = FreedMerging::neighbours);
  FsState(const FsState&) = delete;
  FsState& operator=(const FsState&) = delete;

  [[nodiscard]] const MountedGeometry& geometry() const { return geometry_; }
  // Whether there is an index by order: mb_optimize_scan=1.
  [[nodiscard]] bool order_lists() const { return index_ != GroupIndex::none; }
  [[nodiscard]] GroupIndex index() const { return index_; }
  // Whether there are lists in the order of arrival.
  [[nodiscard]] bool has_lists() const {
    return index_ == GroupIndex::lists || index_ == GroupIndex::lists_keep_full;
  }
  [[nodiscard]] std::uint32_t group_count() const { return geometry_.groups; }
  [[nodiscard]] Group& group(std::uint32_t number) { return groups_[number]; }
  [[nodiscard]] const Group& group(std::uint32_t number) const { return groups_[number]; }
  [[nodiscard]] bitmap::ConstWords words(const Group& group) const;

  [[nodiscard]] LargestList& largest(std::uint32_t order) { return largest_[order]; }
  [[nodiscard]] AverageList& average(std::uint32_t order) { return average_[order]; }
  // The same as sets; those of the index that is not kept are empty.
  [[nodiscard]] const GroupSet& largest_set(std::uint32_t order) const {
    return largest_sets_[order];
  }
  [[nodiscard]] const GroupSet& average_set(std::uint32_t order) const {
    return average_sets_[order];
  }
  [[nodiscard]] const FreeIndex& free_index() const { return free_index_; }

  // Generates the group's counters and puts it on its lists, together with the groups whose
  // bitmaps share its page when blocks are smaller than half a page. Returns how many were loaded.
  std::uint32_t load(std::uint32_t number);

  // For a state whose past is not known, so that its lists may be in any order: sorts every list of
  // the array by the rank of its groups.
  void arrange(OrderLists lists, const std::vector<std::uint32_t>& rank);
  // Whether `group` comes behind `other` on a list where both have been since arrange().
  [[nodiscard]] bool is_behind(OrderLists lists, std::uint32_t group, std::uint32_t other) const;
  // If so, puts it right in front of it. False, and nothing changes, when it is not so.
  bool put_before(OrderLists lists, std::uint32_t group, std::uint32_t other);

  // The buddy of a loaded group, built at first use.
  Buddy& buddy(Group& group);

  // The free run's part that mb_find_extent would return for `at`: buddy chunks from the one that
  // holds `at`, joined until `needed` clusters are reached or the next chunk is in use. Length 0
  // when `at` is in use. The group must be loaded.
  Extent find_extent(Group& group, std::uint32_t at, std::uint32_t needed);

  // Takes a range out of a loaded group, all of it free and inside the group, at least one cluster.
  Buddy::Split take(Group& group, std::uint32_t start, std::uint32_t len);
  // Puts a range back into a loaded group. False, and nothing changes, when the group does not have
  // the range or part of it is free already.
  bool give(Group& group, std::uint32_t start, std::uint32_t len);

  // Takes whatever is free of the range, for a result that is known from elsewhere. Preallocations
  // in its way are dropped; clusters that were freed and not committed show that they are now (the
  // commit was under way while the search went on). Returns the clusters that were in use already:
  // all of them when the group does not have the range. When there are any, `held` gets a bit for
  // each, counted from `start`; it is left alone when there are none.
  std::uint32_t force_take(std::uint32_t group, std::uint32_t start, std::uint32_t len,
                           std::vector<std::uint64_t>& held);

  // Preallocations.
  Prealloc& new_prealloc() { return pool_.make(); }
  void recycle(Prealloc& pa) { pool_.recycle(pa); }
  // Puts one whose block and len are set on its group's list.
  void enlist(Prealloc& pa);
  // The inode's preallocations, made when asked for; or null when it has none.
  InodePreallocs& inode_preallocs(std::uint64_t ino) { return inode_preallocs_[ino]; }
  [[nodiscard]] InodePreallocs* find_inode_preallocs(std::uint64_t ino) {
    InodePreallocs* found = inode_preallocs_.find(ino);
    return found == nullptr || found->list.empty() ? nullptr : found;
  }
  [[nodiscard]] const InodePreallocs* find_inode_preallocs(std::uint64_t ino) const {
    const InodePreallocs* found = inode_preallocs_.find(ino);
    return found == nullptr || found->list.empty() ? nullptr : found;
  }
  LocalityGroup& locality(std::uint32_t cpu) { return locality_[cpu]; }
  // Drops the bookkeeping of an inode that is gone; it must have no preallocations left.
  void forget_inode(std::uint64_t ino);

  // Unlinks `pa` from both lists and recycles it.
  void drop(Prealloc& pa);
  // The same after returning its unused clusters to the bitmap; returns how many those were.
  std::uint32_t release(Prealloc& pa);

  // Marks clusters of the range as freed by `transaction`; they stay in use until it commits.
  // Without a journal they are free at once. Fails, and nothing changes, when the group does not
  // have the range, or part of it is free, freed already, or preallocated and not handed out.
  Status free_clusters(std::uint32_t group, std::uint32_t start, std::uint32_t count,
                       std::uint64_t transaction, bool at_once);
  // Returns what `transaction` freed. Ranges that cannot be given back are counted.
  void commit(std::uint64_t transaction);
  [[nodiscard]] const FreedList& freed() const { return freed_; }
  // What commits have given back since the last call, the oldest first, for a mount that discards;
  // empty for any other.
  [[nodiscard]] std::vector<FreedList::Entry> take_given_back() {
    return std::exchange(given_back_, {});
  }
  [[nodiscard]] std::uint64_t bad_frees() const { return bad_frees_; }

  // The group's block bitmap is about to be written (an inode or a block was allocated in it):
  // BLOCK_UNINIT goes and the descriptor gets its true free count.
  void clear_block_uninit(std::uint32_t group) {
    if (group < geometry_.groups && groups_[group].block_uninit) write_first_bitmap(groups_[group]);
  }
  // The same of the group that the inode was made in. Its bitmap was made in memory for that
  // (__ext4_new_inode): nobody has to read it any more.
  void note_made(std::uint64_t ino);

  [[nodiscard]] std::uint32_t groups_loaded() const { return loaded_; }
  [[nodiscard]] std::uint32_t groups_unread() const { return unread_; }
  // Marks the group's bitmap as prefetched; true if it was not before.
  bool mark_read(Group& group);
  // A cursor for a caller that loads groups in turn: no group before it has something left to load.
  std::uint32_t& next_cold() { return next_cold_; }

  // The group's bitmap as it would be on disk after a sync and unmount: preallocations released,
  // freed clusters free. Writes geometry().clusters_per_group bits, rounded up to words.
  void settled_words(std::uint32_t group, std::vector<std::uint64_t>& out) const;

  // Every broken invariant, one line each, at most `limit` of them: counters against bitmap,
  // buddy against bitmap, lists against orders, preallocations in use and disjoint, freed ranges
  // in use.
  [[nodiscard]] std::vector<std::string> check(std::size_t limit) const;

 private:
  bitmap::Words own_words(Group& group);
  void load_one(Group& group);
  void write_first_bitmap(Group& group);
  void commit_what_lies_in(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  void clear_the_way(const Group& group, std::uint32_t start, std::uint32_t len);
  [[nodiscard]] bool preallocated(const Group& group, std::uint32_t start, std::uint32_t len) const;
  void update_index(Group& group);
  void move_by_largest(Group& group, int order);
  void move_by_average(Group& group, int order);

  MountedGeometry geometry_;
  GroupIndex index_;
  std::vector<Group> groups_;
  FreeIndex free_index_;
  std::array<LargestList, kMaxOrders> largest_;
  std::array<AverageList, kMaxOrders> average_;
  std::array<GroupSet, kMaxOrders> largest_sets_;
  std::array<GroupSet, kMaxOrders> average_sets_;
  PreallocPool pool_;
  RecentMap<std::unordered_map<std::uint64_t, InodePreallocs>> inode_preallocs_;
  std::unordered_map<std::uint32_t, LocalityGroup> locality_;
  FreedList freed_;
  std::vector<FreedList::Entry> given_back_;
  std::uint64_t bad_frees_ = 0;
  std::uint64_t preallocs_made_ = 0;
  std::uint32_t loaded_ = 0;
  std::uint32_t unread_ = 0;
  std::uint32_t next_cold_ = 0;
};

}  // namespace e4r::state
