// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/freed_list.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace e4r::state {
namespace {

// Whether `second` directly follows `first` and the same transaction freed both.
bool joins(const FreedList::Entry& first, const FreedList::Entry& second) {
  return first.transaction == second.transaction && first.end() == second.start;
}

// Whether an entry of the tree overlaps the range. `right` is the first entry that does not begin
// before the range.
template <class Tree>
bool overlaps(const Tree& tree, typename Tree::const_iterator right, std::uint32_t start,
              std::uint32_t count) {
  return (right != tree.end() && right->start < start + count) ||
         (right != tree.begin() && std::prev(right)->end() > start);
}

}  // namespace

bool FreedList::add(std::uint32_t group, std::uint32_t start, std::uint32_t count,
                    std::uint64_t transaction, std::uint64_t event) {
  OfGroup& own = by_group_[group];
  const auto right = own.linked.lower_bound(start);
  if (overlaps(own.linked, right, start, count) ||
      overlaps(own.unlinked, own.unlinked.lower_bound(start), start, count))
    return false;
  const Entry entry = {group, start, count, transaction, event};
  if (merging_ == FreedMerging::neighbours)
    merge_with_neighbours(own, right, entry);
  else if (!merge_with_parent(own, right, entry))
    insert(own, right, entry);
  return true;
}

// `right` is the entry before which the new one belongs in the tree.
void FreedList::insert(OfGroup& group, const Tree::iterator& right, const Entry& entry) {
  Node& node = list_.emplace_back(entry);
  node.self = std::prev(list_.end());
  if (first_linked_ == list_.end()) first_linked_ = node.self;
  group.in_order.push_back(node);
  group.linked.insert_before(right, node);
}

void FreedList::remove(OfGroup& group, Node& node) {
  Tree& tree = node.linked ? group.linked : group.unlinked;
  tree.erase(tree.iterator_to(node));
  group.in_order.erase(group.in_order.iterator_to(node));
  if (first_linked_ == node.self) ++first_linked_;
  list_.erase(node.self);
}

void FreedList::unlink(std::uint64_t transaction, std::uint64_t last_event) {
  for (; first_linked_ != list_.end() && first_linked_->transaction == transaction &&
         first_linked_->freed_at <= last_event;
       ++first_linked_) {
    OfGroup& own = by_group_.at(first_linked_->group);
    own.linked.erase(own.linked.iterator_to(*first_linked_));
    own.unlinked.insert(*first_linked_);
    first_linked_->linked = false;
  }
}

void FreedList::merge_with_neighbours(OfGroup& group, Tree::iterator right, Entry entry) {
  Tree& tree = group.linked;
  if (right != tree.begin())
    if (Node& left = *std::prev(right); joins(left, entry)) {
      entry.start = left.start;
      entry.count += left.count;
      remove(group, left);
    }
  if (right != tree.end() && joins(entry, *right)) {
    entry.count += right->count;
    Node& joined = *right++;
    remove(group, joined);
  }
  insert(group, right, entry);
}

// Merges the entry with the node that would be its parent in the tree, if the two extents join. The
// parent of a new node is its left neighbour if that neighbour has no right child; otherwise the
// right neighbour.
bool FreedList::merge_with_parent(OfGroup& group, const Tree::iterator& right, const Entry& entry) {
  using Traits = Tree::value_traits;
  const Tree& tree = group.linked;
  Node* const left = right == tree.begin() ? nullptr : &*std::prev(right);
  const bool below_left =
      left != nullptr && Traits::node_traits::get_right(Traits::to_node_ptr(*left)) == nullptr;
  if (below_left) {
    if (!joins(*left, entry)) return false;
    left->count += entry.count;
    if (right != tree.end() && joins(*left, *right)) {
      left->count += right->count;
      remove(group, *right);
    }
    return true;
  }
  if (right == tree.end() || !joins(entry, *right)) return false;
  right->start = entry.start;
  right->count += entry.count;
  if (left != nullptr && joins(*left, *right)) {
    left->count += right->count;
    remove(group, *right);
  }
  return true;
}

TreeShape FreedList::shape(std::uint32_t group) const {
  const auto own = by_group_.find(group);
  if (own == by_group_.end()) return {{}};
  return TreeShaper<Tree>::read(own->second.linked, [](const Node& node) { return node.start; });
}

FreedList::Group FreedList::group(std::uint32_t group) const {
  Group out;
  for (const Node& node : entries_of(group)) {
    out.entries.push_back(node);
    out.unlinked += node.linked ? 0 : 1;
  }
  out.shape = shape(group);
  return out;
}

void FreedList::clear(OfGroup& group) {
  group.in_order.clear();
  group.linked.clear();
  group.unlinked.clear();
}

void FreedList::set_group(std::uint32_t group, const Group& to) {
  OfGroup& own = by_group_[group];
  if (!own.in_order.empty()) {
    clear(own);
    list_.remove_if([group](const Node& node) { return node.group == group; });
  }
  std::map<std::uint32_t, Node*> linked;
  auto next = list_.begin();
  for (std::size_t i = 0; i < to.entries.size(); ++i) {
    const bool is_linked = i >= to.unlinked;
    while (next != list_.end() && (is_linked || !next->linked) &&
           next->freed_at <= to.entries[i].freed_at)
      ++next;
    while (is_linked && next != list_.end() && !next->linked) ++next;
    const auto node = list_.emplace(next, to.entries[i]);
    node->self = node;
    node->linked = is_linked;
    own.in_order.push_back(*node);
    if (is_linked)
      linked.emplace(node->start, &*node);
    else
      own.unlinked.insert(*node);
  }
  TreeShaper<Tree>::make(own.linked, to.shape,
                         [&](std::uint32_t start) -> Node& { return *linked.at(start); });
  first_linked_ = std::ranges::find_if(list_, &Node::linked);
  if (to.entries.empty()) by_group_.erase(group);
}

void FreedList::restore(const std::vector<Entry>& entries,
                        const std::unordered_map<std::uint32_t, TreeShape>& shapes) {
  std::unordered_map<std::uint32_t, std::map<std::uint32_t, Node*>> groups;
  for (const Entry& entry : entries) {
    Node& node = list_.emplace_back(entry);
    node.self = std::prev(list_.end());
    by_group_[entry.group].in_order.push_back(node);
    groups[entry.group].emplace(entry.start, &node);
  }
  first_linked_ = list_.begin();
  for (const auto& [group, nodes] : groups) {
    Tree& tree = by_group_[group].linked;
    const auto shape = shapes.find(group);
    std::size_t known = 0;
    const auto fits = [&nodes = nodes, &known](const ShapeNode& node) {
      return node.id == ShapeNode::kNone || (nodes.contains(node.id) && ++known > 0);
    };
    if (shape != shapes.end() && is_tree_shape(shape->second) && has_each_once(shape->second) &&
        std::ranges::all_of(shape->second, fits) && known == nodes.size()) {
      TreeShaper<Tree>::make(tree, shape->second, [&nodes = nodes](std::uint32_t start) -> Node& {
        return *nodes.at(start);
      });
      const auto later = [](const Node& a, const Node& b) { return b.start <= a.start; };
      if (std::adjacent_find(tree.begin(), tree.end(), later) == tree.end()) continue;
      tree.clear();
    }
    for (const auto& [start, node] : nodes) tree.insert(*node);
  }
}

FreedList::Entry FreedList::take(Node& node) {
  const Entry out = static_cast<const Entry&>(node);
  const auto own = by_group_.find(node.group);
  remove(own->second, node);
  if (own->second.in_order.empty()) by_group_.erase(own);
  return out;
}

std::vector<FreedList::Entry> FreedList::take_committed(std::uint64_t transaction,
                                                        std::uint64_t last_event) {
  std::vector<Entry> out;
  while (!list_.empty() && list_.front().transaction == transaction &&
         list_.front().freed_at <= last_event)
    out.push_back(take(list_.front()));
  return out;
}

std::vector<FreedList::Entry> FreedList::take_overlapping(std::uint32_t group, std::uint32_t start,
                                                          std::uint32_t count,
                                                          std::uint64_t transaction) {
  std::vector<Node*> nodes;
  if (const auto own = by_group_.find(group); own != by_group_.end())
    for (Tree* tree : {&own->second.linked, &own->second.unlinked})
      for (Node& node : *tree)
        if (node.transaction == transaction && node.overlaps(start, count)) nodes.push_back(&node);
  std::vector<Entry> out;
  out.reserve(nodes.size());
  for (Node* node : nodes) out.push_back(take(*node));
  return out;
}

}  // namespace e4r::state
