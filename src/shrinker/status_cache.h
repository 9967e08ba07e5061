// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "trace/event.h"

namespace e4r::shrinker {

// The last logical block that a file can have (EXT_MAX_BLOCKS, fs/ext4/ext4_extents.h).
inline constexpr std::uint64_t kLastBlock = 0xffffffff;

// The status of a run of a file's blocks (struct extent_status, Linux 6.1).
struct Entry {
  std::uint64_t logical = 0;  // first file block
  std::uint64_t len = 0;      // blocks, not 0
  std::uint64_t block = 0;    // first device block; 0 unless written or unwritten
  std::uint32_t flags = 0;    // trace::es::
  [[nodiscard]] std::uint64_t last() const { return logical + len - 1; }
  [[nodiscard]] bool mapped() const {
    return (flags & (trace::es::written | trace::es::unwritten)) != 0;
  }
  // A delayed entry is the only record of blocks that have not been written yet, so it must be kept
  // (ext4_es_must_keep).
  [[nodiscard]] bool must_keep() const { return (flags & trace::es::delayed) != 0; }
  friend bool operator==(const Entry&, const Entry&) = default;
};

// Whether a range from a trace is a possible range of a file.
[[nodiscard]] constexpr bool is_range(std::uint64_t logical, std::uint64_t len) {
  return len > 0 && logical <= kLastBlock && len <= kLastBlock - logical + 1;
}

// The extent status tree of one inode, with the rules of fs/ext4/extents_status.c in Linux 6.1.
// Entries do not overlap. A new entry is merged with its neighbours if their types and positions
// allow it (__es_insert_extent, ext4_es_can_be_merged). Ranges must satisfy is_range().
class StatusTree {
 public:
  using Map = std::map<std::uint64_t, Entry>;
  using Position = Map::iterator;

  // Called for each entry that appears (+1) or disappears (-1), in the kernel's order.
  using Count = std::function<void(const Entry&, int)>;
  explicit StatusTree(Count count = {}) : count_(std::move(count)) {}

  // Replaces the status of the entry's range (ext4_es_insert_extent).
  void insert(const Entry& entry);
  // Inserts the entry only if no block of its range is in the tree (ext4_es_cache_extent).
  void cache(const Entry& entry);
  // Removes the range. Parts of entries outside the range stay (__es_remove_extent).
  void remove(std::uint64_t logical, std::uint64_t len);

  // Returns the entry that contains the block. If no entry contains it, returns the next entry, or
  // end() (__es_tree_search).
  [[nodiscard]] Position search(std::uint64_t logical);
  // Returns the entry that contains the block, or end().
  [[nodiscard]] Position find(std::uint64_t logical);
  // Marks the entry that contains the block as referenced and returns a copy of its earlier state;
  // nullopt if there is no entry.
  std::optional<Entry> look_up(std::uint64_t logical);
  // Removes an entry and returns its successor.
  Position reclaim(Position entry);

  [[nodiscard]] Position begin() { return entries_.begin(); }
  [[nodiscard]] Position end() { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  void add(const Entry& entry);
  void join_next(Position at);
  void shorten_front(Position at, std::uint64_t first);

  Map entries_;  // by first block
  Count count_;
};

// The extent status trees of a file system's inodes, and the list of inodes that the shrinker
// processes.
class StatusCache {
 public:
  // One inode. It is on the list while it has reclaimable entries, and is added to the tail with
  // the first of them (ext4_es_list_add).
  struct Inode {
    std::uint64_t ino = 0;
    StatusTree tree;
    StatusTree reclaimed;  // entries that the shrinker has reclaimed and that are still missing
    std::uint64_t reclaimable = 0;      // number of reclaimable entries
    std::uint64_t cursor = 0;           // block at which the shrinker continues (i_es_shrink_lblk)
    std::list<Inode*>::iterator place;  // position on the list, if reclaimable > 0
  };
  using List = std::list<Inode*>;

  StatusCache() = default;
  StatusCache(const StatusCache&) = delete;
  StatusCache& operator=(const StatusCache&) = delete;

  // These functions apply the events of the same names. Ranges must satisfy is_range().
  void insert(std::uint64_t ino, const Entry& entry);
  void cache(std::uint64_t ino, const Entry& entry);
  void remove(std::uint64_t ino, std::uint64_t logical, std::uint64_t len);

  struct Found {
    std::optional<Entry> entry;
    bool was_reclaimed = false;  // there is no entry because the shrinker reclaimed it
  };
  Found look_up(std::uint64_t ino, std::uint64_t logical);
  // Removes the block from the inode's tree, because a recorded lookup found no entry for it.
  void forget(std::uint64_t ino, std::uint64_t logical);

  // The inodes with reclaimable entries, in the shrinker's order. The shrinker may reorder them.
  [[nodiscard]] List& list() { return list_; }
  // Removes an entry on behalf of the shrinker and returns its successor. The inode leaves the list
  // when its last reclaimable entry is removed.
  StatusTree::Position reclaim(Inode& inode, StatusTree::Position entry);

  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t reclaimable() const { return reclaimable_; }
  // Moves inodes to the tail whenever they are used, as kernels up to Linux 3.19 do.
  void order_by_use() { by_use_ = true; }

 private:
  Inode& inode(std::uint64_t ino);
  void count(Inode& inode, const Entry& entry, int by);
  void use(Inode& inode);
  void drop_if_empty(Inode& inode);

  std::unordered_map<std::uint64_t, std::unique_ptr<Inode>> inodes_;
  List list_;
  std::uint64_t entries_ = 0, reclaimable_ = 0;
  bool by_use_ = false;
};

// The result of one call of the shrinker.
struct ShrinkCall {
  std::uint64_t visited = 0;    // entries visited
  std::uint64_t reclaimed = 0;  // entries reclaimed
  std::uint64_t inodes = 0;     // inodes whose trees were walked
};

// A way to choose the entries to reclaim.
struct ReclaimModel {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // kernel version and function, or posting
  bool by_use;              // needs StatusCache::order_by_use()
  // Removes entries from the cache. `budget` is the shrinker's nr_to_scan.
  ShrinkCall (*scan)(StatusCache& cache, std::uint64_t budget);
};

// All models. The first one models Linux 6.1.
[[nodiscard]] std::span<const ReclaimModel> models();
// Returns nullptr if no model has that name.
[[nodiscard]] const ReclaimModel* find_model(std::string_view name);

}  // namespace e4r::shrinker
