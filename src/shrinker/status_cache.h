// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "shrinker/status_tree.h"

namespace e4r::shrinker {

// The extent status trees of a file system's inodes, and the list that its shrinker works through.
class StatusCache {
 public:
  // One inode. It is on the list while it has reclaimable entries, and joins the list's tail with
  // the first of them (ext4_es_list_add).
  struct Inode {
    std::uint64_t ino = 0;
    StatusTree tree;
    StatusTree reclaimed;           // entries that the shrinker took and that have not come back
    std::uint64_t reclaimable = 0;  // entries that may be reclaimed
    std::uint64_t cursor = 0;       // where the shrinker continues (i_es_shrink_lblk)
    std::list<Inode*>::iterator place;  // on the list, if reclaimable > 0
  };
  using List = std::list<Inode*>;

  StatusCache() = default;
  StatusCache(const StatusCache&) = delete;
  StatusCache& operator=(const StatusCache&) = delete;

  // Act as the events of the same names. Ranges must satisfy is_range().
  void insert(std::uint64_t ino, const Entry& entry);
  void cache(std::uint64_t ino, const Entry& entry);
  void remove(std::uint64_t ino, std::uint64_t logical, std::uint64_t len);

  struct Found {
    std::optional<Entry> entry;
    bool was_reclaimed = false;  // nothing is known because the shrinker took the entry
  };
  Found look_up(std::uint64_t ino, std::uint64_t logical);
  // Records that, according to a recorded lookup, nothing is known of the block.
  void forget(std::uint64_t ino, std::uint64_t logical);

  // The inodes with reclaimable entries, in the shrinker's order. The shrinker may reorder them.
  [[nodiscard]] List& list() { return list_; }
  // Removes an entry for the shrinker and returns its successor. The inode leaves the list with its
  // last reclaimable entry.
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

}  // namespace e4r::shrinker
