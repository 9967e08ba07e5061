// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "common/completion.h"

namespace e4r::tools::completion {
namespace {

std::string in_quotes(std::string_view text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// PATHS are " A", and " A B" for the subcommand B of A.
constexpr std::string_view kHelpers = R"(
# Whether it is the subcommand $argv[1] that is being written.
function __PROGRAM_at
    set -l at ''
    set -l tokens (commandline -opc)
    set -e tokens[1]
    for token in $tokens
        if contains -- "$at $token" PATHS
            set at "$at $token"
        end
    end
    test "$at" = "$argv[1]"
end

# Of a list with commas, what is there already, with each candidate behind it.
function __PROGRAM_list
    set -l given (commandline -ct | string replace -r -- '^--[^=]*=' '' | string match -r -- '.*,')
    printf '%s\n' "$given"$argv
end
)";

class FishWriter {
 public:
  explicit FishWriter(const Node& program)
      : program_(program), name_("__" + identifier(program.name)), sets_(word_sets(program)) {}

  std::string write() {
    std::string out =
        fmt::format("# fish completion of {0}: made by `{0} --completion fish` from its options.\n",
                    program_.name);
    out += replaced(replaced(kHelpers, "PROGRAM", identifier(program_.name)), "PATHS",
                    paths(program_, ""));
    for (std::size_t i = 0; i < sets_.sets.size(); ++i) out += choices(*sets_.sets[i], i + 1);
    return out + "\n" + lines(program_, "");
  }

 private:
  static std::string paths(const Node& node, const std::string& path) {
    std::string out = path.empty() ? "''" : " " + in_quotes(path);
    for (const Node& command : node.commands) out += paths(command, path + " " + command.name);
    return out;
  }

  [[nodiscard]] std::string choices(const Value& value, std::size_t number) const {
    std::string rows;
    for (const Word& word : value.words)
      rows += fmt::format(" \\\n        {} {}", in_quotes(word.text), in_quotes(word.meaning));
    return fmt::format("\nfunction {}_values_{}\n    printf '%s\\t%s\\n'{}\nend\n", name_, number,
                       rows);
  }

  // The arguments of `complete` for a value.
  [[nodiscard]] std::string arguments(const Value& value) const {
    switch (value.kind) {
      case Value::Kind::text:
        return "-f";
      case Value::Kind::file:
        return "-F";
      case Value::Kind::directory:
        return "-f -a '(__fish_complete_directories)'";
      case Value::Kind::command:
        return "-F";
      case Value::Kind::words:
        break;
    }
    const std::string values = fmt::format("{}_values_{}", name_, sets_.number_of(value));
    return value.list ? fmt::format("-f -a '({}_list ({}))'", name_, values)
                      : fmt::format("-f -a '({})'", values);
  }

  [[nodiscard]] std::string line(const std::string& path, const std::string& rest) const {
    return fmt::format("complete -c {} -n {} {}\n", program_.name,
                       in_quotes(fmt::format("{}_at '{}'", name_, path)), rest);
  }

  [[nodiscard]] std::string option_line(const Option& option, const std::string& path) const {
    std::string rest;
    for (const std::string& name : option.names)
      rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    rest = rest.substr(1);
    // Without -r, a value is accepted only after =.
    if (option.takes == Option::Takes::value) rest += " -r";
    if (option.takes != Option::Takes::nothing) rest += " " + arguments(option.value);
    return line(path, fmt::format("{} -d {}", rest, in_quotes(option.meaning)));
  }

  [[nodiscard]] std::string lines(const Node& node, const std::string& path) const {
    std::string out = fmt::format("# {}{}\n", program_.name, path);
    bool takes_files = false;
    for (const Operand& operand : node.operands) {
      const Value::Kind kind = operand.value.kind;
      takes_files = takes_files || kind == Value::Kind::file || kind == Value::Kind::command;
      if (kind == Value::Kind::words) out += line(path, arguments(operand.value));
      // Other operands may precede the command, so only the -- marks it.
      if (kind == Value::Kind::command)
        out += fmt::format("complete -c {} -n {} -a '(__fish_complete_command)'\n", program_.name,
                           in_quotes(fmt::format(
                               "{}_at '{}'; and contains -- -- (commandline -opc)", name_, path)));
    }
    if (!takes_files) out += line(path, "-f");
    for (const Option& option : node.options) out += option_line(option, path);
    for (const Node& command : node.commands)
      out += line(path, fmt::format("-a {} -d {}", command.name, in_quotes(command.summary)));
    for (const Node& command : node.commands) out += lines(command, path + " " + command.name);
    return out;
  }

  const Node& program_;
  std::string name_;
  WordSets sets_;
};

}  // namespace

std::string fish_script(const Node& program) {
  return FishWriter(program).write();
}

}  // namespace e4r::tools::completion
