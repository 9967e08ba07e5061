// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/completion.h"

#include <algorithm>

namespace e4r::tools::completion {
namespace {

void collect(const ValueCompletion& value, WordSets& out) {
  if (value.kind == ValueCompletion::Kind::words && out.number_of(value) == 0)
    out.sets.push_back(&value);
}

void collect(const Node& node, WordSets& out) {
  for (const Option& option : node.options) collect(option.value, out);
  for (const Operand& operand : node.operands) collect(operand.value, out);
  for (const Node& command : node.commands) collect(command, out);
}

bool same(const ValueCompletion& a, const ValueCompletion& b) {
  return a.list == b.list && std::ranges::equal(a.words, b.words, {}, &Word::text, &Word::text);
}

}  // namespace

std::size_t WordSets::number_of(const ValueCompletion& value) const {
  if (value.kind != ValueCompletion::Kind::words) return 0;
  const auto found =
      std::ranges::find_if(sets, [&](const ValueCompletion* set) { return same(*set, value); });
  return found == sets.end() ? 0 : static_cast<std::size_t>(found - sets.begin()) + 1;
}

WordSets word_sets(const Node& program) {
  WordSets out;
  collect(program, out);
  return out;
}

std::string identifier(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
    out.replace(at, from.size(), to);
  return out;
}

Result<std::string> script(std::string_view shell, const Node& program) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return error("--completion {}: give bash, zsh or fish", shell);
}

}  // namespace e4r::tools::completion
