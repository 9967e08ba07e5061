// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/extent_tree.h"

namespace e4r::age {
namespace {

constexpr std::uint64_t kHeaderBytes = 12;
constexpr std::uint64_t kEntryBytes = 12;

}  // namespace

bool ExtentTree::append(const BlockRange& run, std::uint32_t block_size,
                        std::vector<NodeGoal>& nodes) {
  nodes.clear();
  const bool touches = !extents_.empty() && next_block() == run.first &&
                       extents_.back().count + run.count <= kLongest;
  if (touches) {
    extents_.back().count += run.count;
    blocks_ += run.count;
    return true;
  }
  // The place of the new extent depends on the extent that was last so far.
  const NodeGoal data = {NodeGoal::Kind::data, next_block()};
  node_entries_ = (block_size - kHeaderBytes) / kEntryBytes;
  const std::uint64_t had = extents_.size();
  if (leaves_.empty()) {
    if (had == kRoot) {  // the entries in the inode move down into a leaf
      nodes.push_back({NodeGoal::Kind::inode, 0});
      wanted_.push_back(true);
    }
  } else if (had == leaves_.size() * node_entries_) {
    const std::uint64_t above = indexes_.empty() ? kRoot : indexes_.size() * node_entries_;
    if (leaves_.size() == above) {
      if (indexes_.empty()) {  // the entries for the leaves move down, too, into a block in front
                               // of the first leaf
        nodes.push_back({NodeGoal::Kind::before, leaves_.front() - 1});
      } else if (indexes_.size() == kRoot) {
        return false;
      } else {
        nodes.push_back(data);
      }
      wanted_.push_back(false);
    }
    nodes.push_back(data);
    wanted_.push_back(true);
  }
  extents_.push_back(run);
  blocks_ += run.count;
  return true;
}

void ExtentTree::add_node(std::uint64_t block) {
  (wanted_.front() ? leaves_ : indexes_).push_back(block);
  wanted_.erase(wanted_.begin());
}

}  // namespace e4r::age
