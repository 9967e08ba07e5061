// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "util/text.h"
#include "util/units.h"

namespace e4r {
namespace {

enum class Kind { end, word, text /* in quotes */, op, times, open, close, all_of, one_of, turn };

struct Token {
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t at = 0;  // 1-based position
};

enum class Op { eq, ne, lt, le, gt, ge };
constexpr std::array<std::pair<std::string_view, Op>, 6> kOps = {
    {{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}}};

// One side of a comparison.
struct Operand {
  enum class Is { number, figure, word, text } is = Is::text;
  Condition::Number number = std::uint64_t(0);  // for Is::number
  std::size_t index = 0;                        // for Is::figure and Is::word
  double factor = 1;                            // for Is::figure
  std::string_view text = {};                   // as written
  std::size_t at = 0;
};

double as_double(const Condition::Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

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

}  // namespace

struct Condition::Node {
  enum class Is { compare, all_of, one_of, turn } is = Is::compare;
  std::shared_ptr<const Node> left, right;
  Op op = Op::eq;
  Operand a, b;
  std::string wanted;  // the text to compare a word with
};

namespace {

using Node = Condition::Node;
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
    if (rest.front() == '*') return take(Kind::times, 1);
    if (rest.front() == '(') return take(Kind::open, 1);
    if (rest.front() == ')') return take(Kind::close, 1);
    if (rest.front() == '\'' || rest.front() == '"') return read_quoted(rest);
    const auto length = static_cast<std::size_t>(
        std::find_if_not(rest.begin(), rest.end(), is_word) - rest.begin());
    if (length > 0) return take(Kind::word, length);
    return at(at_ + 1, fmt::format("'{}' is unexpected here{}", printable(rest.substr(0, 1)),
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
  Parser(std::string_view text, const ConditionNames& names) : tokens_(text), names_(names) {}

  Result<Tree> parse() {
    E4R_CHECK(advance());
    E4R_TRY(Tree tree, one_of());
    if (token_.kind == Kind::close) return at(token_.at, "there is no '(' for this ')'");
    if (token_.kind != Kind::end) return at(token_.at, "&& or || is missing before this");
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

  // Parses an integer or, if the names allow fractions, a number with a decimal point.
  [[nodiscard]] std::optional<Condition::Number> number_in(std::string_view text) const {
    if (const auto whole = parse_u64(text); whole.ok()) return *whole;
    const bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!names_.fractions || !plain) return std::nullopt;
    double number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }

  Result<Operand> factor() {
    const Token t = token_;
    if (t.kind == Kind::end) return at(t.at, "it ends where a name or a number should be");
    if (t.kind != Kind::word && t.kind != Kind::text)
      return at(t.at, fmt::format("'{}' where a name or a number should be", t.text));
    E4R_CHECK(advance());
    Operand out = {.text = t.text, .at = t.at};
    if (t.kind == Kind::text) return out;
    const auto word = std::ranges::find(names_.words, t.text, &ConditionNames::Word::name);
    if (word != names_.words.end()) {
      out.is = Operand::Is::word;
      out.index = static_cast<std::size_t>(word - names_.words.begin());
    } else if (const auto number = number_in(t.text)) {
      out.is = Operand::Is::number;
      out.number = *number;
    }
    return out;
  }

  // Parses a name, a number, or a number times a name.
  Result<Operand> operand() {
    E4R_TRY(Operand out, factor());
    if (token_.kind != Kind::times) return out;
    const std::size_t where = token_.at;
    E4R_CHECK(advance());
    E4R_TRY(Operand other, factor());
    if (other.is == Operand::Is::number) std::swap(out, other);
    if (out.is != Operand::Is::number || other.is != Operand::Is::text)
      return at(where, "only a number times a name can be here");
    other.factor = as_double(out.number);
    return other;
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
    if (node->b.is == Operand::Is::word) std::swap(node->a, node->b);
    E4R_CHECK(node->a.is == Operand::Is::word ? compare_word(*node, where)
                                              : compare_numbers(*node, where));
    return Tree(std::move(node));
  }

  // Parses a comparison with a word on the left.
  Status compare_word(Node& node, std::size_t where) const {
    if (node.op != Op::eq && node.op != Op::ne)
      return at(where, fmt::format("{} is compared with == or != only", node.a.text));
    auto wanted = names_.words[node.a.index].value_of(node.b.text);
    if (!wanted.ok()) return at(node.b.at, wanted.error().message);
    node.wanted = *std::move(wanted);
    return {};
  }

  Status compare_numbers(Node& node, std::size_t where) const {
    for (Operand* o : {&node.a, &node.b}) {
      if (o->is != Operand::Is::text) continue;
      const auto index = names_.figure(o->text);
      if (!index.ok()) return at(o->at, index.error().message);
      o->is = Operand::Is::figure;
      o->index = *index;
    }
    if (node.a.is == Operand::Is::number && node.b.is == Operand::Is::number)
      return at(where, "a number is compared with a number");
    return {};
  }

  Tokens tokens_;
  const ConditionNames& names_;
  Token token_;
  int depth_ = 0;
};

std::optional<Condition::Number> number_of(const Operand& operand, const Condition::Case& one) {
  if (operand.is == Operand::Is::number) return operand.number;
  const std::optional<Condition::Number> figure = one.figure(operand.index);
  if (!figure || operand.factor == 1) return figure;
  return operand.factor * as_double(*figure);
}

// Returns `a && b`, where both may be unknown. The result is false if one of them is false, even if
// the other is unknown.
std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == std::optional(false) || b == std::optional(false)) return false;
  return a && b ? std::optional(true) : std::nullopt;
}

std::optional<bool> opposite(std::optional<bool> a) {
  return a ? std::optional(!*a) : std::nullopt;
}

std::optional<bool> holds_at(const Node& node, const Condition::Case& one) {
  switch (node.is) {
    case Node::Is::turn:
      return opposite(holds_at(*node.left, one));
    case Node::Is::all_of:
      return both(holds_at(*node.left, one), holds_at(*node.right, one));
    case Node::Is::one_of:
      return opposite(
          both(opposite(holds_at(*node.left, one)), opposite(holds_at(*node.right, one))));
    case Node::Is::compare:
      break;
  }
  if (node.a.is == Operand::Is::word)
    return compare<std::string_view>(node.op, one.words[node.a.index], node.wanted);
  const auto a = number_of(node.a, one), b = number_of(node.b, one);
  if (!a || !b) return std::nullopt;
  const auto* whole_a = std::get_if<std::uint64_t>(&*a);
  const auto* whole_b = std::get_if<std::uint64_t>(&*b);
  if (whole_a != nullptr && whole_b != nullptr) return compare(node.op, *whole_a, *whole_b);
  return compare(node.op, as_double(*a), as_double(*b));
}

void add_figures(const Node& node, std::vector<std::size_t>& out) {
  if (node.is != Node::Is::compare) {
    add_figures(*node.left, out);
    if (node.right != nullptr) add_figures(*node.right, out);
    return;
  }
  for (const Operand* o : {&node.a, &node.b})
    if (o->is == Operand::Is::figure && std::ranges::find(out, o->index) == out.end())
      out.push_back(o->index);
}

}  // namespace

Result<Condition> Condition::parse(std::string_view text, const ConditionNames& names) {
  Condition out;
  if (text.find_first_not_of(" \t") == std::string_view::npos) return out;
  constexpr std::size_t kLongest = 4096;
  if (text.size() > kLongest) return error("more than {} bytes", kLongest);
  E4R_TRY(out.root_, Parser(text, names).parse());
  return out;
}

std::optional<bool> Condition::holds(const Case& one) const {
  return root_ == nullptr ? std::optional(true) : holds_at(*root_, one);
}

std::vector<std::size_t> Condition::figures() const {
  std::vector<std::size_t> out;
  if (root_ != nullptr) add_figures(*root_, out);
  return out;
}

}  // namespace e4r
