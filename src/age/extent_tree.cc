// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/extent_tree.h"

#include <algorithm>

namespace e4r::age {
namespace {

constexpr std::uint64_t kHeaderBytes = 12;
constexpr std::uint64_t kEntryBytes = 12;

using Mapped = ExtentTree::Mapped;

// The first extent that begins after the block.
std::vector<Mapped>::const_iterator find_behind(const std::vector<Mapped>& extents,
                                                std::uint64_t logical) {
  return std::ranges::upper_bound(extents, logical, {}, &Mapped::logical);
}

// The index of the last extent that begins at or before the block; 0 if every extent begins after
// it.
std::size_t find(const std::vector<Mapped>& extents, std::uint64_t logical) {
  const auto behind = find_behind(extents, logical);
  return behind == extents.begin() ? 0 : static_cast<std::size_t>(behind - extents.begin()) - 1;
}

bool touches(const Mapped& left, const Mapped& right, std::uint64_t longest) {
  return left.end() == right.logical && left.run.end() == right.run.first &&
         left.run.count + right.run.count <= longest;
}

}  // namespace

// Returns the extent at which the kernel's search for that block ends; nullopt if the file has no
// extent.
std::optional<ExtentTree::Place> ExtentTree::place_of(std::uint64_t logical) const {
  if (is_empty()) return std::nullopt;
  if (leaves_.empty()) return Place{0, find(root_, logical)};
  const auto behind = std::upper_bound(
      leaves_.begin(), leaves_.end(), logical,
      [](std::uint64_t at, const Leaf& leaf) { return at < leaf.extents.front().logical; });
  const std::size_t leaf =
      behind == leaves_.begin() ? 0 : static_cast<std::size_t>(behind - leaves_.begin()) - 1;
  return Place{leaf, find(leaves_[leaf].extents, logical)};
}

std::optional<std::uint64_t> ExtentTree::goal_of(std::uint64_t logical) const {
  const auto place = place_of(logical);
  if (!place) return std::nullopt;
  const Mapped& near = in(place->leaf)[place->at];
  if (logical > near.logical) return near.run.first + (logical - near.logical);
  return near.run.first - std::min(near.run.first, near.logical - logical);
}

ExtentTree::Neighbours ExtentTree::around(std::uint64_t logical) const {
  Neighbours out;
  const auto place = place_of(logical);
  if (!place) return out;
  const std::vector<Mapped>& extents = in(place->leaf);
  const Mapped& near = extents[place->at];
  if (near.logical > logical) {  // the file's first extent
    out.right = near;
    return out;
  }
  out.left = near;
  if (place->at + 1 < extents.size())
    out.right = extents[place->at + 1];
  else if (place->leaf + 1 < leaves_.size())
    out.right = leaves_[place->leaf + 1].extents.front();
  return out;
}

std::uint64_t ExtentTree::count() const {
  std::uint64_t out = root_.size();
  for (const Leaf& leaf : leaves_) out += leaf.extents.size();
  return out;
}

std::vector<Mapped> ExtentTree::mapped() const {
  std::vector<Mapped> out = root_;
  for (const Leaf& leaf : leaves_) out.insert(out.end(), leaf.extents.begin(), leaf.extents.end());
  return out;
}

std::vector<BlockRange> ExtentTree::extents() const {
  std::vector<BlockRange> out;
  for (const Mapped& extent : mapped()) out.push_back(extent.run);
  return out;
}

bool ExtentTree::insert(const Mapped& mapped, std::uint32_t block_size,
                        std::vector<NodeGoal>& nodes) {
  nodes.clear();
  node_entries_ = (block_size - kHeaderBytes) / kEntryBytes;
  const auto place = place_of(mapped.logical);
  if (!(place && merge(mapped, *place)) && !put(mapped, nodes)) return false;
  blocks_ += mapped.run.count;
  return true;
}

// Extends an adjacent extent of the same leaf. The kernel merges only extents of one leaf.
bool ExtentTree::merge(const Mapped& mapped, const Place& place) {
  std::vector<Mapped>& extents = in(place.leaf);
  const std::size_t next = extents[place.at].logical < mapped.logical ? place.at + 1 : place.at;
  const bool has_next = next < extents.size();
  if (next > place.at && touches(extents[place.at], mapped, kLongest)) {
    extents[place.at].run.count += mapped.run.count;
    if (has_next && touches(extents[place.at], extents[next], kLongest)) {
      extents[place.at].run.count += extents[next].run.count;
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return true;
  }
  if (!has_next || !touches(mapped, extents[next], kLongest)) return false;
  extents[next].logical = mapped.logical;
  extents[next].run = {mapped.run.first, mapped.run.count + extents[next].run.count};
  return true;
}

// Adds a new extent.
bool ExtentTree::put(const Mapped& mapped, std::vector<NodeGoal>& nodes) {
  const auto add = [&mapped](std::vector<Mapped>& extents) {
    extents.insert(find_behind(extents, mapped.logical), mapped);
  };
  if (leaves_.empty() && root_.size() < kRoot) {
    add(root_);
    return true;
  }
  if (leaves_.empty()) {  // the entries in the inode move down into a leaf
    nodes.push_back({NodeGoal::Kind::inode, 0});
    wanted_.emplace_back(true, 0);
    leaves_.push_back({0, std::exchange(root_, {})});
    add(leaves_[0].extents);
    return true;
  }
  const Place place = *place_of(mapped.logical);
  std::vector<Mapped>& extents = leaves_[place.leaf].extents;
  if (extents.size() < node_entries_) {
    add(extents);
    return true;
  }
  const bool is_behind = mapped.logical > extents.back().logical;
  if (is_behind && place.leaf + 1 < leaves_.size() &&
      leaves_[place.leaf + 1].extents.size() < node_entries_) {
    add(leaves_[place.leaf + 1].extents);
    return true;
  }
  if (!split_leaf(mapped, place, nodes)) return false;
  add(leaves_[is_behind ? place.leaf + 1 : place.leaf].extents);
  return true;
}

// Returns the index node above the leaf. `within` is the leaf's position in it.
std::size_t ExtentTree::index_of(std::size_t leaf, std::size_t& within) const {
  std::size_t index = 0;
  for (within = leaf; within >= indexes_[index].leaves; ++index) within -= indexes_[index].leaves;
  return index;
}

// Makes a new leaf after a full one and moves the extents after `place` to it (ext4_ext_split).
bool ExtentTree::split_leaf(const Mapped& mapped, const Place& place,
                            std::vector<NodeGoal>& nodes) {
  const NodeGoal data = {NodeGoal::Kind::data, *goal_of(mapped.logical)};
  const std::size_t added = place.leaf + 1;
  if (indexes_.empty() && leaves_.size() == kRoot) {
    // The entries for the leaves also move down, into a new node before the first leaf.
    nodes.push_back({NodeGoal::Kind::before, leaves_.front().block - 1});
    wanted_.emplace_back(false, 0);
    indexes_.push_back({0, leaves_.size()});
  }
  if (!indexes_.empty()) {
    std::size_t within = 0;
    const std::size_t index = index_of(place.leaf, within);
    if (indexes_[index].leaves < node_entries_) {
      ++indexes_[index].leaves;
    } else if (indexes_.size() == kRoot) {
      return false;
    } else {
      const std::uint64_t moved = indexes_[index].leaves - within - 1;
      indexes_[index].leaves -= moved;
      const auto behind = indexes_.begin() + static_cast<std::ptrdiff_t>(index) + 1;
      indexes_.insert(behind, Index{0, moved + 1});
      nodes.push_back(data);
      wanted_.emplace_back(false, index + 1);
    }
  }
  nodes.push_back(data);
  wanted_.emplace_back(true, added);
  std::vector<Mapped>& from = leaves_[place.leaf].extents;
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(place.at) + 1;
  Leaf leaf = {0, std::vector<Mapped>(first, from.end())};
  from.erase(first, from.end());
  leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(added), std::move(leaf));
  return true;
}

void ExtentTree::add_node(std::uint64_t block) {
  const auto [is_leaf, at] = wanted_.front();
  (is_leaf ? leaves_[at].block : indexes_[at].block) = block;
  wanted_.erase(wanted_.begin());
}

void ExtentTree::remove_leaf(std::size_t leaf, const Freed& freed) {
  const auto give_back = [&freed](std::uint64_t block) {
    if (block != 0) freed(BlockRange{block, 1}, false);
  };
  give_back(leaves_[leaf].block);
  if (!indexes_.empty()) {
    std::size_t within = 0;
    const std::size_t index = index_of(leaf, within);
    if (--indexes_[index].leaves == 0) {
      give_back(indexes_[index].block);
      indexes_.erase(indexes_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf));
}

// No extent may contain both a block before `from` and a block at or after `to`.
void ExtentTree::remove(std::uint64_t from, std::uint64_t to, const Freed& freed) {
  while (!is_empty()) {
    const auto place = place_of(to - 1);
    Mapped& extent = in(place->leaf)[place->at];
    if (extent.logical >= to || extent.end() <= from) return;
    const std::uint64_t begin = std::max(from, extent.logical);
    const std::uint64_t skipped = begin - extent.logical;
    const std::uint64_t count = std::min(to, extent.end()) - begin;
    const BlockRange gone = {extent.run.first + skipped, count};
    blocks_ -= count;
    freed(gone, true);
    if (skipped > 0) {
      extent.run.count = skipped;
      return;
    }
    if (count < extent.run.count) {  // the end of the extent stays
      extent = {to, {extent.run.first + count, extent.run.count - count}};
      continue;
    }
    std::vector<Mapped>& extents = in(place->leaf);
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(place->at));
    if (extents.empty() && !leaves_.empty()) remove_leaf(place->leaf, freed);
  }
}

bool ExtentTree::punch(std::uint64_t from, std::uint64_t to, std::uint32_t block_size,
                       std::vector<NodeGoal>& nodes, const Freed& freed) {
  nodes.clear();
  if (is_empty() || from >= to) return true;
  node_entries_ = (block_size - kHeaderBytes) / kEntryBytes;
  const auto place = place_of(to - 1);
  Mapped& extent = in(place->leaf)[place->at];
  if (extent.logical < from && extent.end() > to) {  // the hole splits the extent in two
    const std::uint64_t kept = to - extent.logical;
    const Mapped behind = {to, {extent.run.first + kept, extent.run.count - kept}};
    extent.run.count = kept;
    if (!put(behind, nodes)) {
      // put() has failed and moved nothing, so only the extent's length has to be restored.
      in(place->leaf)[place->at].run.count += behind.run.count;
      return false;
    }
  }
  remove(from, to, freed);
  return true;
}

}  // namespace e4r::age
