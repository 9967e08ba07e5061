// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/where.h"

#include <algorithm>
#include <array>
#include <utility>

#include "allocator/policy.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

constexpr std::size_t kLongestName = 4096;

enum class Kind { end, word, text /* in quotes */, op, open, close, all_of, one_of, turn };

struct Token {
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t at = 0;  // position, counted from 1
};

enum class Op { eq, ne, lt, le, gt, ge };
constexpr std::array<std::pair<std::string_view, Op>, 6> kOps = {
    {{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}}};

// One side of a comparison.
struct Operand {
  enum class Is { number, tunable, policy, capture, text } is = Is::text;
  std::uint64_t number = 0;    // of a number; of a tunable, its index
  std::string_view text = {};  // as written
  std::size_t at = 0;
};

template <class T>
bool compare(Op op, const T& a, const T& b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
  }
  return false;
}

bool is_word(char c) {
  constexpr std::string_view kOthers = "_.-/:+@%";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80 || kOthers.find(c) != std::string_view::npos;
}

std::string list_names(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names)
    out += (out.empty() ? "" : ", ") + printable(name, kLongestName);
  return out;
}

}  // namespace

struct Where::Node {
  enum class Is { compare, all_of, one_of, turn } is = Is::compare;
  std::shared_ptr<const Node> left, right;
  Op op = Op::eq;
  Operand a, b;
  std::string wanted;  // the policy or capture to compare with
};

namespace {

using Node = Where::Node;
using Tree = std::shared_ptr<const Node>;

Error at(std::size_t place, std::string_view what) {
  return error("at {}: {}", place, what);
}

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    const std::string_view rest = text_.substr(at_);
    if (rest.empty()) return Token{Kind::end, {}, at_ + 1};
    if (rest.starts_with("&&")) return take(Kind::all_of, 2);
    if (rest.starts_with("||")) return take(Kind::one_of, 2);
    for (const auto& [word, op] : kOps)
      if (rest.starts_with(word)) return take(Kind::op, word.size());
    if (rest.front() == '!') return take(Kind::turn, 1);
    if (rest.front() == '(') return take(Kind::open, 1);
    if (rest.front() == ')') return take(Kind::close, 1);
    if (rest.front() == '\'' || rest.front() == '"') return read_quoted(rest);
    const auto length = static_cast<std::size_t>(
        std::find_if_not(rest.begin(), rest.end(), is_word) - rest.begin());
    if (length > 0) return take(Kind::word, length);
    return at(at_ + 1, fmt::format("'{}' means nothing here{}", printable(rest.substr(0, 1)),
                                   hint(rest.front())));
  }

 private:
  static std::string_view hint(char c) {
    if (c == '=') return ": equal is ==";
    if (c == '&') return ": and is &&";
    if (c == '|') return ": or is ||";
    return "";
  }

  Token take(Kind kind, std::size_t length) {
    const Token out = {kind, text_.substr(at_, length), at_ + 1};
    at_ += length;
    return out;
  }

  Result<Token> read_quoted(std::string_view rest) {
    const auto end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos) return at(at_ + 1, "the quote is not closed");
    const Token out = {Kind::text, rest.substr(1, end - 1), at_ + 1};
    at_ += end + 1;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const Vocabulary& known) : tokens_(text), known_(known) {}

  Result<Tree> parse() {
    E4R_CHECK(advance());
    E4R_TRY(Tree tree, one_of());
    if (token_.kind == Kind::close) return at(token_.at, "there is no '(' for this ')'");
    if (token_.kind != Kind::end) return at(token_.at, "&& or || is missing in front of this");
    return tree;
  }

 private:
  Status advance() {
    E4R_TRY(token_, tokens_.next());
    return {};
  }

  Result<Tree> one_of() { return parse_joined(Kind::one_of, Node::Is::one_of, &Parser::all_of); }
  Result<Tree> all_of() { return parse_joined(Kind::all_of, Node::Is::all_of, &Parser::term); }

  Result<Tree> parse_joined(Kind by, Node::Is is, Result<Tree> (Parser::*part)()) {
    E4R_TRY(Tree left, (this->*part)());
    while (token_.kind == by) {
      E4R_CHECK(advance());
      E4R_TRY(Tree right, (this->*part)());
      auto node = std::make_shared<Node>();
      node->is = is;
      node->left = std::move(left);
      node->right = std::move(right);
      left = std::move(node);
    }
    return left;
  }

  // Limits the depth, since each level takes a stack frame.
  Status deeper() {
    constexpr int kDeepest = 100;
    return ++depth_ > kDeepest
               ? Status(at(token_.at, "more than 100 '!' and '(' within each other"))
               : Status();
  }

  Result<Tree> term() {
    if (token_.kind == Kind::turn) {
      E4R_CHECK(deeper());
      E4R_CHECK(advance());
      auto node = std::make_shared<Node>();
      node->is = Node::Is::turn;
      E4R_TRY(node->left, term());
      --depth_;
      return Tree(std::move(node));
    }
    if (token_.kind != Kind::open) return comparison();
    E4R_CHECK(deeper());
    const std::size_t opened = token_.at;
    E4R_CHECK(advance());
    E4R_TRY(Tree inside, one_of());
    if (token_.kind != Kind::close)
      return at(token_.at, fmt::format("a ')' is missing for the '(' at {}", opened));
    E4R_CHECK(advance());
    --depth_;
    return inside;
  }

  Result<Operand> operand() {
    const Token t = token_;
    if (t.kind == Kind::end) return at(t.at, "it ends where a name or a number should be");
    if (t.kind != Kind::word && t.kind != Kind::text)
      return at(t.at, fmt::format("'{}' where a name or a number should be", t.text));
    E4R_CHECK(advance());
    if (t.kind == Kind::text) return Operand{Operand::Is::text, 0, t.text, t.at};
    if (t.text == "policy") return Operand{Operand::Is::policy, 0, t.text, t.at};
    if (t.text == "capture") return Operand{Operand::Is::capture, 0, t.text, t.at};
    if (const auto number = parse_u64(t.text); number.ok())
      return Operand{Operand::Is::number, *number, t.text, t.at};
    const auto& names = known_.tunables;
    const auto found = std::ranges::find(names, t.text);
    if (found != names.end())
      return Operand{Operand::Is::tunable, static_cast<std::uint64_t>(found - names.begin()),
                     t.text, t.at};
    return Operand{Operand::Is::text, 0, t.text, t.at};
  }

  Result<Tree> comparison() {
    auto node = std::make_shared<Node>();
    E4R_TRY(node->a, operand());
    if (token_.kind != Kind::op)
      return at(token_.at, "a comparison is missing: == != < <= > or >=");
    node->op =
        std::ranges::find(kOps, token_.text, &std::pair<std::string_view, Op>::first)->second;
    const std::size_t where = token_.at;
    E4R_CHECK(advance());
    E4R_TRY(node->b, operand());
    const auto named = [](const Operand& o) {
      return o.is == Operand::Is::policy || o.is == Operand::Is::capture;
    };
    if (named(node->b)) std::swap(node->a, node->b);
    E4R_CHECK(named(node->a) ? name(*node, where) : numbers(*node, where));
    return Tree(std::move(node));
  }

  // Parses a comparison with `policy` or `capture` on the left.
  Status name(Node& node, std::size_t where) const {
    if (node.op != Op::eq && node.op != Op::ne)
      return at(where, fmt::format("{} is compared with == or != only", node.a.text));
    const bool policy = node.a.is == Operand::Is::policy;
    std::string_view wanted = node.b.text;
    if (policy)
      if (const allocator::Policy* found = allocator::find_policy(wanted)) wanted = found->name;
    const auto& known = policy ? known_.policies : known_.captures;
    if (std::ranges::find(known, wanted) == known.end())
      return at(node.b.at, fmt::format("no {} '{}' in this sweep: it has {}", node.a.text,
                                       printable(wanted), list_names(known)));
    node.wanted = std::string(wanted);
    return {};
  }

  Status numbers(const Node& node, std::size_t where) const {
    for (const Operand* o : {&node.a, &node.b})
      if (o->is == Operand::Is::text)
        return at(o->at, fmt::format("'{}' is neither a number nor a tunable that --set gives{}",
                                     printable(o->text),
                                     known_.tunables.empty()
                                         ? std::string(": it gives none")
                                         : ": it gives " + list_names(known_.tunables)));
    if (node.a.is == Operand::Is::number && node.b.is == Operand::Is::number)
      return at(where, "a number is compared with a number");
    return {};
  }

  Tokens tokens_;
  const Vocabulary& known_;
  Token token_;
  int depth_ = 0;
};

std::uint64_t number_of(const Operand& operand, const Combination& point) {
  return operand.is == Operand::Is::tunable ? point.values[operand.number] : operand.number;
}

bool holds_at(const Node& node, const Combination& point) {
  switch (node.is) {
    case Node::Is::turn:
      return !holds_at(*node.left, point);
    case Node::Is::all_of:
      return holds_at(*node.left, point) && holds_at(*node.right, point);
    case Node::Is::one_of:
      return holds_at(*node.left, point) || holds_at(*node.right, point);
    case Node::Is::compare:
      break;
  }
  if (node.a.is == Operand::Is::policy)
    return compare<std::string_view>(node.op, point.policy, node.wanted);
  if (node.a.is == Operand::Is::capture)
    return compare<std::string_view>(node.op, point.capture, node.wanted);
  return compare(node.op, number_of(node.a, point), number_of(node.b, point));
}

}  // namespace

Result<Where> Where::parse(std::string_view text, const Vocabulary& vocabulary) {
  Where out;
  if (text.find_first_not_of(" \t") == std::string_view::npos) return out;
  constexpr std::size_t kLongest = 4096;
  if (text.size() > kLongest) return error("more than {} bytes", kLongest);
  E4R_TRY(out.root_, Parser(text, vocabulary).parse());
  return out;
}

bool Where::holds(const Combination& point) const {
  return root_ == nullptr || holds_at(*root_, point);
}

}  // namespace e4r::sweep
