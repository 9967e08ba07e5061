// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "common/completion.h"
#include "util/shell.h"

namespace e4r::tools::completion {
namespace {

// Escapes brackets and colons, which have a meaning in a specification of _arguments.
std::string escaped(std::string_view text) {
  std::string out = replaced(text, "\\", "\\\\");
  for (const char* mark : {"[", "]", ":"}) out = replaced(out, mark, std::string("\\") + mark);
  return out;
}

// A row of _describe.
std::string choice(std::string_view text, std::string_view meaning) {
  std::string row = replaced(replaced(text, "\\", "\\\\"), ":", "\\:");
  if (!meaning.empty()) row.append(":").append(meaning);
  return shell_quoted(row);
}

std::string choices(const Value& value, const std::string& function) {
  std::string rows;
  bool open = value.list;
  for (const Word& word : value.words) {
    rows += fmt::format("        {}\n", choice(word.text, word.meaning));
    open = open || word.text.ends_with('=');
  }
  return fmt::format(
      "{}() {{\n    local -a choices=(\n{}    )\n{}    _describe -t values value choices{}\n}}\n\n",
      function, rows, value.list ? "    compset -P '*,'\n" : "", open ? " -S ''" : "");
}

class ZshWriter {
 public:
  explicit ZshWriter(const Node& program)
      : program_(program), name_("_" + identifier(program.name)), sets_(word_sets(program)) {}

  std::string write() {
    std::string out = fmt::format(
        "#compdef {0}\n# zsh completion of {0}: made by `{0} --completion zsh` from its "
        "options.\n\n",
        program_.name);
    for (std::size_t i = 0; i < sets_.sets.size(); ++i)
      out += choices(*sets_.sets[i], values(i + 1));
    return out + function(program_, name_) + fmt::format("{} \"$@\"\n", name_);
  }

 private:
  [[nodiscard]] std::string values(std::size_t number) const {
    return fmt::format("{}_values_{}", name_, number);
  }

  [[nodiscard]] std::string action(const Value& value) const {
    switch (value.kind) {
      case Value::Kind::text:
        break;
      case Value::Kind::file:
        return "_files";
      case Value::Kind::directory:
        return "_files -/";
      case Value::Kind::command:
        return "_normal";
      case Value::Kind::words:
        return " " + values(sets_.number_of(value));
    }
    return " ";
  }

  [[nodiscard]] std::string option_rows(const Option& option) const {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
    std::string out;
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      std::string row = option.again ? "*" : fmt::format("({})", names);
      row += name;
      if (option.takes == Option::Takes::value) row += is_long ? "=" : "+";
      if (option.takes == Option::Takes::maybe) row += "=-";
      row += fmt::format("[{}]", escaped(option.meaning));
      if (option.takes != Option::Takes::nothing)
        row += fmt::format("{}{}:{}", option.takes == Option::Takes::maybe ? "::" : ":",
                           escaped(option.placeholder), action(option.value));
      out += fmt::format(" \\\n        {}", shell_quoted(row));
    }
    return out;
  }

  [[nodiscard]] std::string operand_rows(const Node& node) const {
    std::string out;
    std::size_t place = 0;
    for (const Operand& operand : node.operands) {
      ++place;
      const bool command = operand.value.kind == Value::Kind::command;
      const std::string where = operand.rest ? (command ? "*:" : "*") : fmt::format("{}", place);
      out += fmt::format(" \\\n        {}",
                         shell_quoted(fmt::format("{}:{}:{}", where, escaped(operand.placeholder),
                                                  action(operand.value))));
    }
    return out;
  }

  // The function of a node, after the functions of its subcommands.
  [[nodiscard]] std::string function(const Node& node, const std::string& name) const {
    std::string options;
    for (const Option& option : node.options) options += option_rows(option);
    if (node.commands.empty())
      return fmt::format("{}() {{\n    _arguments -s{}{}\n}}\n\n", name, options,
                         operand_rows(node));
    std::string out;
    std::string rows;
    std::string cases;
    for (const Node& command : node.commands) {
      const std::string below = fmt::format("{}_{}", name, identifier(command.name));
      out += function(command, below);
      rows += fmt::format("            {}\n", choice(command.name, command.summary));
      cases += fmt::format("        {}) {} && ret=0 ;;\n", command.name, below);
    }
    return out + fmt::format(
                     "{0}() {{\n    local curcontext=\"$curcontext\" state line ret=1\n"
                     "    local -A opt_args\n"
                     "    _arguments -s -C{1} \\\n        '(-): :->command' \\\n"
                     "        '(-)*:: :->rest' && ret=0\n"
                     "    case $state in\n    command)\n        local -a choices=(\n{2}        )\n"
                     "        _describe -t commands command choices && ret=0\n        ;;\n"
                     "    rest)\n        case $words[1] in\n{3}        esac\n        ;;\n"
                     "    esac\n    return ret\n}}\n\n",
                     name, options, rows, cases);
  }

  const Node& program_;
  std::string name_;
  WordSets sets_;
};

}  // namespace

std::string zsh_script(const Node& program) {
  return ZshWriter(program).write();
}

}  // namespace e4r::tools::completion
