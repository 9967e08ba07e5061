// SPDX-License-Identifier: GPL-2.0-or-later
// Copies a state, so that a caller can return to it.
#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "state/fs_state.h"

namespace e4r::state {

void FreedList::copy_from(const FreedList& other) {
  for (auto& [group, own] : by_group_) clear(own);
  by_group_.clear();
  list_.clear();
  std::unordered_map<const Node*, Node*> copies;
  copies.reserve(other.list_.size());
  for (const Node& node : other.list_) {
    Node& copy = list_.emplace_back(static_cast<const Entry&>(node));
    copy.self = std::prev(list_.end());
    copy.linked = node.linked;
    copies.emplace(&node, &copy);
    by_group_[copy.group].in_order.push_back(copy);
  }
  first_linked_ = std::ranges::find_if(list_, &Node::linked);
  const auto copy_of = [&](const Node& node) { return copies.at(&node); };
  const auto keep = [](Node*) {};  // list_ owns the nodes
  for (const auto& [group, own] : other.by_group_) {
    OfGroup& mine = by_group_[group];
    mine.linked.clone_from(own.linked, copy_of, keep);
    mine.unlinked.clone_from(own.unlinked, copy_of, keep);
  }
}

void FsState::copy_from(const FsState& other) {
  copy_groups(other);
  copy_preallocs(other);
  free_index_ = other.free_index_;
  largest_sets_ = other.largest_sets_;
  average_sets_ = other.average_sets_;
  freed_.copy_from(other.freed_);
  given_back_ = other.given_back_;
  discarding_ = other.discarding_;
  bad_frees_ = other.bad_frees_;
  event_ = other.event_;
  committing_ = other.committing_;
  preallocs_made_ = other.preallocs_made_;
  loaded_ = other.loaded_;
  unread_ = other.unread_;
  next_cold_ = other.next_cold_;
}

void FsState::copy_groups(const FsState& other) {
  for (std::uint32_t order = 0; order < kMaxOrders; ++order) {
    largest_[order].clear();
    average_[order].clear();
  }
  tree_.clear();
  for (Group& group : groups_) {
    const Group& from = other.groups_[group.number];
    static_cast<GroupFacts&>(group) = static_cast<const GroupFacts&>(from);
    if (from.own) {
      const std::size_t words = other.words(from).size();
      if (!group.own) group.own = std::make_unique_for_overwrite<std::uint64_t[]>(words);
      std::copy_n(from.own.get(), words, group.own.get());
    } else {
      group.own.reset();
    }
    if (!from.buddy)
      group.buddy.reset();
    else if (group.buddy)
      *group.buddy = *from.buddy;
    else
      group.buddy = std::make_unique<Buddy>(*from.buddy);
  }
  for (std::uint32_t order = 0; order < kMaxOrders; ++order) {
    for (const Group& group : other.largest_[order])
      largest_[order].push_back(groups_[group.number]);
    for (const Group& group : other.average_[order])
      average_[order].push_back(groups_[group.number]);
  }
  if (has_tree(index_)) set_tree(other.tree_shape());
}

void FsState::copy_preallocs(const FsState& other) {
  pool_.clear();  // empties all lists
  inode_preallocs_.clear();
  locality_.clear();
  std::unordered_map<const Prealloc*, Prealloc*> copies;
  const auto copy_of = [&](const Prealloc& pa) { return copies.at(&pa); };
  for (Group& group : groups_) {
    const Group& from = other.groups_[group.number];
    for (const Prealloc& pa : from.preallocs) {
      Prealloc& copy = pool_.make();
      static_cast<PreallocFacts&>(copy) = static_cast<const PreallocFacts&>(pa);
      group.preallocs.push_back(copy);
      copies.emplace(&pa, &copy);
    }
    group.index.copy_from(from.index, copy_of);
  }
  const auto copy_list = [&](const OwnerPreallocs& from, OwnerPreallocs& to) {
    for (const Prealloc& pa : from) to.push_back(*copy_of(pa));
  };
  for (const auto& [ino, from] : other.inode_preallocs_.all()) {
    InodePreallocs& mine = inode_preallocs_[ino];
    copy_list(from.list, mine.list);
    mine.active = from.active;
  }
  for (const auto& [cpu, from] : other.locality_)
    for (std::uint32_t bucket = 0; bucket < kLocalityBuckets; ++bucket)
      copy_list(from.buckets[bucket], locality_[cpu].buckets[bucket]);
}

}  // namespace e4r::state
