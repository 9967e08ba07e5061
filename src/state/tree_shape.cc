// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/tree_shape.h"

#include <unordered_set>

namespace e4r::state {
namespace {

// The largest depth that is accepted: twice the number of black nodes on a path of a tree that has
// one element for each possible number.
constexpr int kDeepest = 72;

// The number of black nodes on each path from here to a missing child; -1 if this is not a
// red-black tree.
int black_height(const TreeShape& shape, std::size_t& at, bool below_red, int depth) {
  if (at == shape.size() || depth > kDeepest) return -1;
  const ShapeNode& node = shape[at++];
  if (node.id == ShapeNode::kNone) return 0;
  if (node.red && below_red) return -1;
  const int left = black_height(shape, at, node.red, depth + 1);
  if (left < 0) return -1;
  const int right = black_height(shape, at, node.red, depth + 1);
  return left == right ? left + (node.red ? 0 : 1) : -1;
}

}  // namespace

bool is_tree_shape(const TreeShape& shape) {
  std::size_t at = 0;
  return black_height(shape, at, true, 0) >= 0 && at == shape.size();
}

bool has_each_once(const TreeShape& shape) {
  std::unordered_set<std::uint32_t> seen;
  for (const ShapeNode& node : shape)
    if (node.id != ShapeNode::kNone && !seen.insert(node.id).second) return false;
  return true;
}

}  // namespace e4r::state
