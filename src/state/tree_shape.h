// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace e4r::state {

// The shape and the colours of a red-black tree: its elements in preorder, with a kNone for each
// missing child. An empty tree is a single kNone.
struct ShapeNode {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t id = kNone;
  bool red = false;
  friend bool operator==(const ShapeNode&, const ShapeNode&) = default;
};
using TreeShape = std::vector<ShapeNode>;

// Whether some red-black tree has this shape.
[[nodiscard]] bool is_tree_shape(const TreeShape& shape);
// Whether no element occurs twice.
[[nodiscard]] bool has_each_once(const TreeShape& shape);

// Reads and builds Boost.Intrusive trees that do not count their elements.
template <class Tree>
class TreeShaper {
  using Traits = typename Tree::value_traits;
  using Nodes = typename Traits::node_traits;
  using Node = typename Nodes::node_ptr;
  using ConstNode = typename Nodes::const_node_ptr;

 public:
  // Returns the shape of a tree. `id_of` returns the number of an element.
  template <class IdOf>
  [[nodiscard]] static TreeShape read(const Tree& tree, const IdOf& id_of) {
    TreeShape out;
    add(Nodes::get_parent(header_of(tree)), id_of, out);
    return out;
  }

  // Builds the tree, which must be empty. The shape must satisfy is_tree_shape(). `element` is
  // called once for each number and returns that element, which must not be in a tree.
  template <class Element>
  static void make(Tree& tree, const TreeShape& shape, const Element& element) {
    const Node header = header_of(tree);
    std::size_t at = 0;
    const Node root = link(shape, at, header, element);
    if (root == Node()) return;
    Node first = root, last = root;
    while (Nodes::get_left(first) != Node()) first = Nodes::get_left(first);
    while (Nodes::get_right(last) != Node()) last = Nodes::get_right(last);
    Nodes::set_parent(header, root);
    Nodes::set_left(header, first);
    Nodes::set_right(header, last);
  }

 private:
  static Node header_of(const Tree& tree) { return tree.end().pointed_node(); }

  template <class IdOf>
  static void add(const ConstNode& node, const IdOf& id_of, TreeShape& out) {
    if (node == ConstNode()) return out.push_back({});
    out.push_back({id_of(*Traits::to_value_ptr(node)), Nodes::get_color(node) == Nodes::red()});
    add(Nodes::get_left(node), id_of, out);
    add(Nodes::get_right(node), id_of, out);
  }

  template <class Element>
  static Node link(const TreeShape& shape, std::size_t& at, const Node& parent,
                   const Element& element) {
    const ShapeNode& from = shape[at++];
    if (from.id == ShapeNode::kNone) return Node();
    const Node node = Traits::to_node_ptr(element(from.id));
    Nodes::set_parent(node, parent);
    Nodes::set_color(node, from.red ? Nodes::red() : Nodes::black());
    Nodes::set_left(node, link(shape, at, node, element));
    Nodes::set_right(node, link(shape, at, node, element));
    return node;
  }
};

}  // namespace e4r::state
