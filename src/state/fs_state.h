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
#include "util/recent_map.h"
#include "util/status.h"

namespace e4r::state {

class Pretence;

// One group of the start image. The bits of `words` are not copied and must outlive every FsState
// made from them. There are at least clusters_per_group bits; those past the group's end are set.
struct GroupSource {
  bitmap::ConstWords words;
  std::uint32_t disk_free = 0;  // free clusters according to the descriptor
  std::uint32_t init_free = 0;  // the value to which the kernel sets bb_free at mount
  bool block_uninit = false;
  bool corrupt = false;
};

struct Source {
  MountedGeometry geometry;
  std::vector<GroupSource> groups;
  std::vector<BlockRange> metadata;  // ascending, disjoint; must not be allocated
  // Whether some of the blocks are metadata.
  [[nodiscard]] bool has_metadata(const BlockRange& blocks) const;
};

// The index of loaded groups, by the orders of their largest free chunk and of their average free
// extent.
enum class GroupIndex : std::uint8_t {
  none,
  lists,  // lists in order of arrival (Linux 6.1)
  // like `lists`, but a group that becomes full stays on its average-fragment list (Linux 6.5 to
  // 6.16)
  lists_keep_full,
  // Lists in order of arrival for the largest free chunk, and a red-black tree for the average free
  // extent. A full group keeps its place in the tree (Linux 5.13 to 5.19).
  tree,
  // like `tree`, but each change of a group moves it to the end of its list (up to 5.15.70)
  tree_to_end,
  sets,  // sets in ascending order (6.12 from 6.12.77 on, and 6.17 and later)
};

[[nodiscard]] constexpr bool has_tree(GroupIndex index) {
  return index == GroupIndex::tree || index == GroupIndex::tree_to_end;
}

// Whether the index contains lists in order of arrival.
[[nodiscard]] constexpr bool has_lists(GroupIndex index) {
  return index == GroupIndex::lists || index == GroupIndex::lists_keep_full || has_tree(index);
}

// The two arrays of order lists.
enum class OrderLists : std::uint8_t { largest, average };

// The state on which an allocator works: groups with bitmap, buddy and counters; two arrays of
// order lists; preallocations; freed clusters that wait for a commit. Models mballoc of Linux 6.1
// without concurrency. Not thread-safe, but several states may share one Source.
class FsState {
 public:
  FsState(const Source& source, GroupIndex index, FreedMerging merging = FreedMerging::neighbours);
  FsState(const FsState&) = delete;
  FsState& operator=(const FsState&) = delete;
  // Makes this state equal to `other`, which was made from the same arguments. Invalidates all
  // pointers to preallocations of this state.
  void copy_from(const FsState& other);

  [[nodiscard]] const MountedGeometry& geometry() const { return geometry_; }
  // Whether the state has an index of groups by order (mb_optimize_scan=1).
  [[nodiscard]] bool order_lists() const { return index_ != GroupIndex::none; }
  [[nodiscard]] GroupIndex index() const { return index_; }
  [[nodiscard]] bool has_lists() const { return state::has_lists(index_); }
  [[nodiscard]] std::uint32_t group_count() const { return geometry_.groups; }
  [[nodiscard]] Group& group(std::uint32_t number) { return groups_[number]; }
  [[nodiscard]] const Group& group(std::uint32_t number) const { return groups_[number]; }
  [[nodiscard]] bitmap::ConstWords words(const Group& group) const;

  [[nodiscard]] LargestList& largest(std::uint32_t order) { return largest_[order]; }
  [[nodiscard]] AverageList& average(std::uint32_t order) { return average_[order]; }
  // The tree by average free extent; empty unless has_tree(index()).
  [[nodiscard]] const AverageTree& tree() const { return tree_; }
  // The sets of groups. Empty unless index() is GroupIndex::sets.
  [[nodiscard]] const GroupSet& largest_set(std::uint32_t order) const {
    return largest_sets_[order];
  }
  [[nodiscard]] const GroupSet& average_set(std::uint32_t order) const {
    return average_sets_[order];
  }
  [[nodiscard]] const FreeIndex& free_index() const { return free_index_; }

  // Generates the group's counters and puts the group on its lists. Does the same for the groups
  // whose bitmaps share its page, if blocks are smaller than half a page. Calls `loaded` for each
  // group that was loaded, in the kernel's order, and returns how many there were.
  std::uint32_t load(std::uint32_t number,
                     const std::function<void(std::uint32_t group)>& loaded = {});

  // Call this when the kernel regenerated the buddy of a loaded group because its page had been
  // reclaimed. A kernel with a tree then moves the group in its index (mb_update_avg_fragment_size,
  // Linux 5.15).
  void reload(std::uint32_t number) {
    if (!groups_[number].need_init) update_index(groups_[number]);
  }

  // The former state of a group, for unload().
  struct Unloaded {
    std::uint32_t number = 0;
    std::uint32_t free = 0;
    bool moved_by_largest = false, moved_by_average = false;
  };
  // Loads a group for a trial, and adds the former state of each loaded group to `loaded`.
  void load_for_try(std::uint32_t number, std::vector<Unloaded>& loaded);
  // Undoes load_for_try(). Nothing else may have changed since.
  void unload(const std::vector<Unloaded>& loaded);

  // Sorts every list of the array by the rank of its groups. Used when the history of the state is
  // unknown. The true order of its lists is then unknown, too.
  void arrange(OrderLists lists, const std::vector<std::uint32_t>& rank);
  // The shape of the tree, whose elements are group numbers. set_tree() gives the tree this shape
  // and ignores a shape that does not fit the groups of this state.
  [[nodiscard]] TreeShape tree_shape() const;
  void set_tree(const TreeShape& shape);
  // Puts a full group on the average-fragment list on which it stayed when it became full.
  void keep_on_average(std::uint32_t number, std::uint32_t order);
  // Whether both groups have been on the same list since arrange(), and `group` comes after
  // `other`.
  [[nodiscard]] bool is_behind(OrderLists lists, std::uint32_t group, std::uint32_t other) const;
  // Moves `group` to just before `other` if is_behind(). Otherwise returns false and changes
  // nothing.
  bool put_before(OrderLists lists, std::uint32_t group, std::uint32_t other);

  // The place of a group on the lists that are in order of arrival.
  struct GroupPlace {
    struct OnList {
      std::int8_t order = -1;
      bool listed = false;
      bool moved = false;        // it joined the list after arrange()
      std::uint32_t behind = 0;  // the previous group; itself if it is the first
    };
    std::uint32_t group = 0;
    std::array<OnList, 2> lists;  // indexed by OrderLists
  };
  [[nodiscard]] GroupPlace place_of(std::uint32_t group) const;
  // Puts the group back in that place, for a caller that has undone a change of its clusters. The
  // group keeps its present place on a list if its clusters now give it another order, or if the
  // group that preceded it has left the list.
  void put_back(const GroupPlace& place);

  // The buddy of a loaded group. Built at first use.
  Buddy& buddy(Group& group);

  // The extent that mb_find_extent would return for `at`: buddy chunks from the one that holds
  // `at`, joined until they have `needed` clusters or the next chunk is in use. Its length is 0 if
  // `at` is in use. The group must be loaded.
  Extent find_extent(Group& group, std::uint32_t at, std::uint32_t needed);

  // Takes a range out of a loaded group. The range must not be empty, and all its clusters must be
  // free and in the group.
  Buddy::Split take(Group& group, std::uint32_t start, std::uint32_t len);
  // Puts a range back into a loaded group. Returns false and changes nothing if part of the range
  // is outside the group or already free.
  bool give(Group& group, std::uint32_t start, std::uint32_t len);

  // Takes all free clusters of the range, for a result that was recorded or is otherwise known.
  // First drops the preallocations in the range, and commits the frees in it, since the result
  // shows that these have been committed. Returns the number of clusters that were already in use;
  // all of them if the range is not in the group. If there are any, `held` gets a set bit for each,
  // counted from `start`; otherwise `held` is unchanged.
  std::uint32_t force_take(std::uint32_t group, std::uint32_t start, std::uint32_t len,
                           std::vector<std::uint64_t>& held);

  // A range of free clusters that is marked as in use while its discard is sent (ext4_trim_extent
  // in Linux 5.4 to 7.3).
  struct Discarding {
    std::uint64_t by = 0;  // identifies the sender; each sender has at most one range
    std::uint32_t group = 0, start = 0, len = 0;
    [[nodiscard]] bool overlaps(std::uint32_t other, std::uint32_t from,
                                std::uint64_t clusters) const {
      return group == other && start < from + clusters && from < std::uint64_t{start} + len;
    }
  };
  // Takes the range out of a loaded group. All its clusters must be free.
  void begin_discard(const Discarding& range);
  // Gives back the range of one sender, or all ranges that overlap the given clusters. Does nothing
  // if there is no such range.
  void end_discard(std::uint64_t by);
  void end_discards_in(std::uint32_t group, std::uint32_t start, std::uint64_t len);
  [[nodiscard]] const std::vector<Discarding>& discarding() const { return discarding_; }

  Prealloc& new_prealloc() { return pool_.make(); }
  void recycle(Prealloc& pa) { pool_.recycle(pa); }
  // Puts a preallocation whose `block` and `len` are set on the list of its group.
  void enlist(Prealloc& pa);
  // The inode's preallocations. inode_preallocs() creates the entry if needed;
  // find_inode_preallocs() returns null if the inode has no preallocation.
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
  // Drops the records of a deleted inode, unless it still has preallocations.
  void forget_inode(std::uint64_t ino);

  // Unlinks `pa` from both lists and recycles it.
  void drop(Prealloc& pa);
  // Returns the unused clusters of `pa` to the bitmap, then drops `pa`. Returns the number of these
  // clusters.
  std::uint32_t release(Prealloc& pa);

  // Marks clusters as freed by `transaction`. They stay in use until it commits, or become free now
  // if `at_once`. Fails and changes nothing if part of the range is outside the group, free,
  // already freed, or preallocated but not handed out.
  Status free_clusters(std::uint32_t group, std::uint32_t start, std::uint32_t count,
                       std::uint64_t transaction, bool at_once);
  // Makes the clusters that `transaction` freed up to `last_event` free (note_event). Counts ranges
  // that cannot be given back in bad_frees().
  void commit(std::uint64_t transaction, std::uint64_t last_event = UINT64_MAX);
  // The transaction that is being committed, or nullopt if no commit is in progress.
  [[nodiscard]] std::optional<std::uint64_t> committing() const { return committing_; }
  void set_committing(std::optional<std::uint64_t> transaction) { committing_ = transaction; }
  // Records that the commit of `transaction` has removed the extents freed up to `last_event` from
  // the groups' trees (FreedList::unlink).
  void unlink_freed(std::uint64_t transaction, std::uint64_t last_event) {
    freed_.unlink(transaction, last_event);
  }
  // A search calls begin_walk() before it looks at groups, and end_walk() when it comes back to the
  // group of its best extent. Only in between, it sees the changes of the pretence that
  // limit_to_walks() sets (null: no pretence). Returns the pretence before.
  void begin_walk();
  void end_walk();
  Pretence* limit_to_walks(Pretence* pretence) { return std::exchange(seen_by_walks_, pretence); }
  // Sets the event of the trace to which later frees belong.
  void note_event(std::uint64_t event) { event_ = event; }
  [[nodiscard]] const FreedList& freed() const { return freed_; }
  // For a caller that restores a state. The clusters of the entries must be in use.
  [[nodiscard]] FreedList& own_freed() { return freed_; }
  // The extents that commits have returned since the last call, oldest first. Empty unless the
  // mount discards.
  [[nodiscard]] std::vector<FreedList::Entry> take_given_back() {
    return std::exchange(given_back_, {});
  }
  [[nodiscard]] std::uint64_t bad_frees() const { return bad_frees_; }

  // Call this when the group's block bitmap is about to be written because an inode or a block was
  // allocated in the group. Clears BLOCK_UNINIT and corrects the free count in the descriptor.
  void clear_block_uninit(std::uint32_t group) {
    if (group < geometry_.groups && groups_[group].block_uninit) write_first_bitmap(groups_[group]);
  }
  // Does the same for the group in which the inode was created. Also marks the group's bitmap as
  // read, since __ext4_new_inode generates it in memory.
  void note_made(std::uint64_t ino);

  [[nodiscard]] std::uint32_t groups_loaded() const { return loaded_; }
  [[nodiscard]] std::uint32_t groups_unread() const { return unread_; }
  // Marks the group's bitmap as prefetched. Returns false if it was already marked.
  bool mark_read(Group& group);
  // A cursor for a caller that loads groups in turn. No group before the cursor is left to load.
  std::uint32_t& next_cold() { return next_cold_; }

  // The group's bitmap as it would be on disk after a sync and an unmount: preallocations are
  // released, and freed clusters and clusters being discarded are free. Writes
  // geometry().clusters_per_group bits, rounded up to words.
  void settled_words(std::uint32_t group, std::vector<std::uint64_t>& out) const;

  // Reports broken invariants, one line each, at most `limit`. Counters and buddy must agree with
  // the bitmap, and the lists with the orders. Preallocations must be in use and disjoint, freed
  // ranges must be in use.
  [[nodiscard]] std::vector<std::string> check(std::size_t limit) const;

 private:
  bitmap::Words own_words(Group& group);
  [[nodiscard]] std::span<Group> on_page_of(std::uint32_t number);
  void load_one(Group& group);
  void write_first_bitmap(Group& group);
  void give_back(const FreedList::Entry& entry);
  void commit_frees_in(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  void release_overlapping(const Group& group, std::uint32_t start, std::uint32_t len);
  [[nodiscard]] bool is_preallocated(const Group& group, std::uint32_t start,
                                     std::uint32_t len) const;
  [[nodiscard]] int largest_order_of(const Group& group) const;
  [[nodiscard]] int average_order_of(const Group& group) const;
  void update_index(Group& group);
  void move_by_largest(Group& group, int order);
  void move_by_average(Group& group, int order);
  void move_in_tree(Group& group);
  void copy_groups(const FsState& other);
  void copy_preallocs(const FsState& other);

  MountedGeometry geometry_;
  GroupIndex index_;
  std::vector<Group> groups_;
  FreeIndex free_index_;
  std::array<LargestList, kMaxOrders> largest_;
  std::array<AverageList, kMaxOrders> average_;
  AverageTree tree_;
  std::array<GroupSet, kMaxOrders> largest_sets_;
  std::array<GroupSet, kMaxOrders> average_sets_;
  Pretence* seen_by_walks_ = nullptr;  // as limit_to_walks() set it
  PreallocPool pool_;
  RecentMap<std::unordered_map<std::uint64_t, InodePreallocs>> inode_preallocs_;
  std::unordered_map<std::uint32_t, LocalityGroup> locality_;
  FreedList freed_;
  std::vector<FreedList::Entry> given_back_;
  std::vector<Discarding> discarding_;
  std::uint64_t bad_frees_ = 0;
  std::uint64_t event_ = 0;  // as note_event() set it
  std::optional<std::uint64_t> committing_;
  std::uint64_t preallocs_made_ = 0;
  std::uint32_t loaded_ = 0;
  std::uint32_t unread_ = 0;
  std::uint32_t next_cold_ = 0;
};

}  // namespace e4r::state
