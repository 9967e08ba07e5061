// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "state/tree_shape.h"

namespace e4r::state {

// How a freed extent merges with other extents that its transaction freed in the same group
// (ext4_mb_free_metadata, fs/ext4/mballoc.c).
enum class FreedMerging : std::uint8_t {
  // It merges with both neighbours. The merged extent moves to the end of the list (6.1.192,
  // 6.12.117).
  neighbours,
  // It merges with the extent that would be its parent in the group's tree, if that is a neighbour,
  // and then with the parent's neighbour on the other side. The lower of two merged extents keeps
  // its place on the list, unless it is the new extent. A neighbour higher in the tree stays
  // separate (6.18.44, 7.3.4).
  parent,
};

// Clusters that were freed but may not be used again until the transaction that freed them has
// committed (s_freed_data_list and bb_free_root, Linux 6.1). The order in which groups get their
// clusters back determines the order of groups on the allocator's lists and the order of discards.
class FreedList {
 public:
  struct Entry {
    std::uint32_t group;
    std::uint32_t start;  // cluster
    std::uint32_t count;
    std::uint64_t transaction;   // the number of the transaction; later ones have higher numbers
    std::uint64_t freed_at = 0;  // the event that determined its place on the list (add)

    [[nodiscard]] std::uint32_t end() const { return start + count; }
    [[nodiscard]] bool overlaps(std::uint32_t from, std::uint32_t clusters) const {
      return start < from + clusters && from < end();
    }
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  explicit FreedList(FreedMerging merging = FreedMerging::neighbours) : merging_(merging) {}
  FreedList(const FreedList&) = delete;
  FreedList& operator=(const FreedList&) = delete;
  // Makes this list equal to `other`, which merges extents in the same way.
  void copy_from(const FreedList& other);

  // Adds a freed range. Returns false and changes nothing if it overlaps a listed range. `event` is
  // the number of the event that frees it; numbers must not decrease from call to call.
  bool add(std::uint32_t group, std::uint32_t start, std::uint32_t count, std::uint64_t transaction,
           std::uint64_t event = 0);

  // Records that the commit of `transaction` has removed entries from their groups' trees: the
  // entries at the head of the list that were freed up to `last_event`. They stay on the list, but
  // extents freed later no longer merge with them.
  void unlink(std::uint64_t transaction, std::uint64_t last_event);

  // Removes and returns the entries of `transaction` at the head of the list, oldest first. Stops
  // at the first entry that belongs to another transaction or was freed after `last_event`.
  [[nodiscard]] std::vector<Entry> take_committed(std::uint64_t transaction,
                                                  std::uint64_t last_event = UINT64_MAX);

  // Removes and returns the entries of `transaction` that overlap the range.
  [[nodiscard]] std::vector<Entry> take_overlapping(std::uint32_t group, std::uint32_t start,
                                                    std::uint32_t count, std::uint64_t transaction);

  [[nodiscard]] const auto& entries() const { return list_; }
  // The entries of one group in the order of the list. The next change of the list invalidates it.
  [[nodiscard]] const auto& entries_of(std::uint32_t group) const {
    static const InOrder kNothing;
    const auto found = by_group_.find(group);
    return found == by_group_.end() ? kNothing : found->second.in_order;
  }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] bool has(std::uint32_t group) const { return by_group_.contains(group); }

  // The entries of one group in the order of the list, and its tree.
  struct Group {
    std::vector<Entry> entries;
    std::size_t unlinked = 0;  // how many entries at the front are no longer in the tree (unlink)
    TreeShape shape;           // as shape() returns it
    friend bool operator==(const Group&, const Group&) = default;
  };
  [[nodiscard]] Group group(std::uint32_t group) const;
  // Replaces the entries of one group. The events of the entries determine their places on the
  // list.
  void set_group(std::uint32_t group, const Group& to);

  // The shape of a group's tree, without the entries that unlink() has removed. The number of an
  // element is its start cluster.
  [[nodiscard]] TreeShape shape(std::uint32_t group) const;
  // Fills an empty list with these entries, and gives each group's tree the shape in `shapes`. A
  // shape that does not fit the entries is ignored.
  void restore(const std::vector<Entry>& entries,
               const std::unordered_map<std::uint32_t, TreeShape>& shapes);

 private:
  using Hook =
      boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>,
                                      boost::intrusive::optimize_size<true>>;
  using OrderHook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  // A walk down a tree reads the hook and `start`, so these are next to each other.
  struct Node : OrderHook, Hook, Entry {
    explicit Node(const Entry& entry) : Entry(entry) {}
    std::list<Node>::iterator self;
    bool linked = true;
  };
  struct ByStart {
    using type = std::uint32_t;
    type operator()(const Node& node) const { return node.start; }
  };
  using Tree = boost::intrusive::set<Node, boost::intrusive::key_of_value<ByStart>,
                                     boost::intrusive::constant_time_size<false>>;
  using InOrder = boost::intrusive::list<Node, boost::intrusive::constant_time_size<false>>;
  // The entries of one group.
  struct OfGroup {
    InOrder in_order;  // as on the list
    // Has the same shape as the kernel's tree. Both are red-black trees with textbook rebalancing
    // that replace a removed node with the next higher one.
    Tree linked;
    Tree unlinked;  // the entries that unlink() has removed from `linked`
  };

  static void clear(OfGroup& group);
  void insert(OfGroup& group, const Tree::iterator& right, const Entry& entry);
  Entry take(Node& node);
  void remove(OfGroup& group, Node& node);
  bool merge_with_parent(OfGroup& group, const Tree::iterator& right, const Entry& entry);
  void merge_with_neighbours(OfGroup& group, Tree::iterator right, Entry entry);

  FreedMerging merging_;
  std::list<Node> list_;  // the unlinked entries come first
  std::list<Node>::iterator first_linked_ = list_.end();
  std::unordered_map<std::uint32_t, OfGroup> by_group_;
};

}  // namespace e4r::state
