// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "util/text.h"

namespace e4r::tools::completion {
namespace {

// The distinct sets of words. Shell scripts get a function for each of them.
struct WordSets {
  std::vector<const ValueCompletion*> sets;
  // The 1-based index of `value` in `sets`, or 0 if `value` has no words.
  [[nodiscard]] std::size_t number_of(const ValueCompletion& value) const;
};

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

// Converts a name such as "tune2fs-lazy" to a part of a function name.
std::string identifier(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

// `text` with every `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
    out.replace(at, from.size(), to);
  return out;
}

// The code of the bash script, which reads the two tables that the script also contains. PROGRAM is
// replaced by the program's name as an identifier. Sourcing the script is enough: it does not need
// the bash-completion package.
constexpr std::string_view kReader = R"(
# Removes from each candidate in COMPREPLY what the word $1 has up to its last = or :, because bash
# splits words there. Adds no space after a candidate that ends in =.
_PROGRAM_shorten() {
    local breaks='' rest=$1
    [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
    [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
    [[ -z $breaks ]] || rest=${1##*["$breaks"]}
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
    COMPREPLY=("${COMPREPLY[@]#"${1%"$rest"}"}")
}

# Completes the value $3, of the kind $kind, of the word $1, which begins with $2.
_PROGRAM_reply() {
    local given=$2 value=$3
    case $kind in
    file | directory)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -A "$kind" -P "$given" -- "$value")
        ;;
    command) mapfile -t COMPREPLY < <(compgen -c -- "$value") ;;
    list | words)
        if [[ $kind == list && $value == *,* ]]; then
            given+=${value%,*},
            value=${value##*,}
        fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -P "$given" -- "$value")
        ;;
    esac
    _PROGRAM_shorten "$1"
}

# The command line up to the cursor into line, with what bash has split at = and : in one word.
_PROGRAM_join() {
    local i word last=''
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#line[@]} -gt 0 && ($word == [=:] || $last == [=:]) ]]; then
            line[-1]+=$word
        else
            line+=("$word")
        fi
        last=$word
    done
}

_PROGRAM() {
    local line=() word cur command='' wanted='' plain='' n=1
    local commands options kind words
    COMPREPLY=()
    _PROGRAM_join
    cur=${line[-1]}
    for word in "${line[@]:0:${#line[@]}-1}"; do
        if [[ -n $wanted ]]; then
            wanted=''
        elif [[ -z $plain && $word == -- ]]; then
            plain=1
        elif [[ -z $plain && $word == -?* ]]; then
            _PROGRAM_value "$command $word"
            [[ -z $kind ]] || wanted=$word
        else
            _PROGRAM_command "$command"
            if [[ " $commands " == *" $word "* ]]; then
                command+=/$word
            else
                ((n += 1))
            fi
        fi
    done
    _PROGRAM_command "$command"
    if [[ -n $wanted ]]; then
        _PROGRAM_value "$command $wanted"
        _PROGRAM_reply "$cur" '' "$cur"
    elif [[ -z $plain && $cur == --*=* ]]; then
        word=${cur%%=*}
        _PROGRAM_value "$command $word="
        [[ -n $kind ]] || _PROGRAM_value "$command $word"
        _PROGRAM_reply "$cur" "$word=" "${cur#*=}"
    elif [[ -z $plain && $cur == -* ]]; then
        kind=words words=$options
        _PROGRAM_reply "$cur" '' "$cur"
    elif [[ -n $commands ]]; then
        kind=words words=$commands
        _PROGRAM_reply "$cur" '' "$cur"
    else
        _PROGRAM_value "$command $n"
        [[ -n $kind ]] || _PROGRAM_value "$command ..."
        _PROGRAM_reply "$cur" '' "$cur"
    fi
}
complete -F _PROGRAM )";

std::string join(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) out += (out.empty() ? "" : " ") + word.text;
  return out;
}

// A row of the table `_NAME_command`.
std::string command_row(const Node& node, const std::string& path) {
  std::string commands;
  std::string options;
  for (const Node& command : node.commands)
    commands += (commands.empty() ? "" : " ") + command.name;
  for (const Option& option : node.options)
    for (const std::string& name : option.names) options += (options.empty() ? "" : " ") + name;
  return fmt::format("    {})\n        commands={}\n        options={}\n        ;;\n",
                     shell_quote(path), shell_quote(commands), shell_quote(options));
}

std::string what_to_set(const ValueCompletion& value) {
  switch (value.kind) {
    case ValueCompletion::Kind::text:
      return "kind=text";
    case ValueCompletion::Kind::file:
      return "kind='file'";
    case ValueCompletion::Kind::directory:
      return "kind=directory";
    case ValueCompletion::Kind::command:
      return "kind='command'";
    case ValueCompletion::Kind::words:
      break;
  }
  return fmt::format("kind={} words={}", value.list ? "list" : "words",
                     shell_quote(join(value.words)));
}

// Rows of the table `_NAME_value`.
std::string value_rows(const Node& node, const std::string& path) {
  std::string out;
  for (const Option& option : node.options) {
    if (option.takes == Option::Takes::nothing) continue;
    std::string patterns;
    for (const std::string& name : option.names)
      patterns +=
          fmt::format("{}{}", patterns.empty() ? "" : " | ",
                      shell_quote(fmt::format("{} {}{}", path, name,
                                              option.takes == Option::Takes::maybe ? "=" : "")));
    out += fmt::format("    {}) {} ;;\n", patterns, what_to_set(option.value));
  }
  std::size_t place = 0;
  for (const Operand& operand : node.operands) {
    out += fmt::format("    '{} {}') {} ;;\n", path, ++place, what_to_set(operand.value));
    if (!operand.rest) continue;
    const bool command = operand.value.kind == ValueCompletion::Kind::command;
    out += fmt::format("    '{} ...') {} ;;\n", path,
                       command ? "kind='file'" : what_to_set(operand.value));
  }
  return out;
}

template <class Rows>
std::string table(const Node& node, const std::string& path, const Rows& rows) {
  std::string out = rows(node, path);
  for (const Node& command : node.commands) out += table(command, path + "/" + command.name, rows);
  return out;
}

std::string bash_script(const Node& program) {
  const std::string name = identifier(program.name);
  return fmt::format(
      "# bash completion of {0}: made by `{0} --completion bash` from its options.\n"
      "# shellcheck shell=bash disable=SC2034\n\n"
      "# Subcommands and options of the subcommand $1, which is /A, or /A/B in B of A.\n"
      "_{1}_command() {{\n    case $1 in\n{2}    esac\n}}\n\n"
      "# What the value of an option is, or an operand by its place: $1 is \"/COMMAND OPTION\".\n"
      "# Options that take none have no kind; those that take one only after = have a = here.\n"
      "_{1}_value() {{\n    kind='' words=''\n    case $1 in\n{3}    esac\n}}\n{4}{0}\n",
      program.name, name, table(program, "", command_row), table(program, "", value_rows),
      replace_all(kReader, "PROGRAM", name));
}

std::string in_quotes(std::string_view text) {
  return "'" + replace_all(replace_all(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// PATHS lists the paths of subcommands: " A", and " A B" for the subcommand B of A.
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

# Prints each candidate after the part of a comma-separated list that is there already.
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
    out += replace_all(replace_all(kHelpers, "PROGRAM", identifier(program_.name)), "PATHS",
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

  [[nodiscard]] std::string choices(const ValueCompletion& value, std::size_t number) const {
    std::string rows;
    for (const Word& word : value.words)
      rows += fmt::format(" \\\n        {} {}", in_quotes(word.text), in_quotes(word.meaning));
    return fmt::format("\nfunction {}_values_{}\n    printf '%s\\t%s\\n'{}\nend\n", name_, number,
                       rows);
  }

  // The arguments of `complete` for a value.
  [[nodiscard]] std::string arguments(const ValueCompletion& value) const {
    switch (value.kind) {
      case ValueCompletion::Kind::text:
        return "-f";
      case ValueCompletion::Kind::file:
        return "-F";
      case ValueCompletion::Kind::directory:
        return "-f -a '(__fish_complete_directories)'";
      case ValueCompletion::Kind::command:
        return "-F";
      case ValueCompletion::Kind::words:
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
      const ValueCompletion::Kind kind = operand.value.kind;
      takes_files = takes_files || kind == ValueCompletion::Kind::file ||
                    kind == ValueCompletion::Kind::command;
      if (kind == ValueCompletion::Kind::words) out += line(path, arguments(operand.value));
      // The command may follow other operands, so only the -- marks where it begins.
      if (kind == ValueCompletion::Kind::command)
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

std::string fish_script(const Node& program) {
  return FishWriter(program).write();
}

// Escapes backslashes, brackets and colons, which have a special meaning in a specification for
// _arguments.
std::string escape(std::string_view text) {
  std::string out = replace_all(text, "\\", "\\\\");
  for (const char* mark : {"[", "]", ":"}) out = replace_all(out, mark, std::string("\\") + mark);
  return out;
}

// A row for _describe.
std::string choice(std::string_view text, std::string_view meaning) {
  std::string row = replace_all(replace_all(text, "\\", "\\\\"), ":", "\\:");
  if (!meaning.empty()) row.append(":").append(meaning);
  return shell_quote(row);
}

std::string choices(const ValueCompletion& value, const std::string& function) {
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

  [[nodiscard]] std::string action(const ValueCompletion& value) const {
    switch (value.kind) {
      case ValueCompletion::Kind::text:
        break;
      case ValueCompletion::Kind::file:
        return "_files";
      case ValueCompletion::Kind::directory:
        return "_files -/";
      case ValueCompletion::Kind::command:
        return "_normal";
      case ValueCompletion::Kind::words:
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
      row += fmt::format("[{}]", escape(option.meaning));
      if (option.takes != Option::Takes::nothing)
        row += fmt::format("{}{}:{}", option.takes == Option::Takes::maybe ? "::" : ":",
                           escape(option.placeholder), action(option.value));
      out += fmt::format(" \\\n        {}", shell_quote(row));
    }
    return out;
  }

  [[nodiscard]] std::string operand_rows(const Node& node) const {
    std::string out;
    std::size_t place = 0;
    for (const Operand& operand : node.operands) {
      ++place;
      const bool command = operand.value.kind == ValueCompletion::Kind::command;
      const std::string where = operand.rest ? (command ? "*:" : "*") : fmt::format("{}", place);
      out += fmt::format(" \\\n        {}",
                         shell_quote(fmt::format("{}:{}:{}", where, escape(operand.placeholder),
                                                 action(operand.value))));
    }
    return out;
  }

  // Returns the function of a node, after the functions of its subcommands.
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

std::string zsh_script(const Node& program) {
  return ZshWriter(program).write();
}

}  // namespace

Result<std::string> script(std::string_view shell, const Node& program) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return error("--completion {}: give bash, zsh or fish", shell);
}

}  // namespace e4r::tools::completion
