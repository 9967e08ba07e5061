// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "common/completion.h"
#include "util/shell.h"

namespace e4r::tools::completion {
namespace {

// The script has two tables and this code, which reads them; PROGRAM stands for the program's name
// as an identifier. It does not need the bash-completion package: sourcing it is enough.
constexpr std::string_view kReader = R"(
# Of the candidates in COMPREPLY, what stands behind the last = or : of the word $1: there bash has
# split it. Nothing more is to be typed behind a candidate but where it ends in =.
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

std::string joined(const std::vector<Word>& words) {
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
                     shell_quoted(path), shell_quoted(commands), shell_quoted(options));
}

std::string what_to_set(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text:
      return "kind=text";
    case Value::Kind::file:
      return "kind='file'";
    case Value::Kind::directory:
      return "kind=directory";
    case Value::Kind::command:
      return "kind='command'";
    case Value::Kind::words:
      break;
  }
  return fmt::format("kind={} words={}", value.list ? "list" : "words",
                     shell_quoted(joined(value.words)));
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
                      shell_quoted(fmt::format("{} {}{}", path, name,
                                               option.takes == Option::Takes::maybe ? "=" : "")));
    out += fmt::format("    {}) {} ;;\n", patterns, what_to_set(option.value));
  }
  std::size_t place = 0;
  for (const Operand& operand : node.operands) {
    out += fmt::format("    '{} {}') {} ;;\n", path, ++place, what_to_set(operand.value));
    if (!operand.rest) continue;
    const bool command = operand.value.kind == Value::Kind::command;
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

}  // namespace

std::string bash_script(const Node& program) {
  const std::string name = identifier(program.name);
  return fmt::format(
      "# bash completion of {0}: made by `{0} --completion bash` from its options.\n"
      "# shellcheck shell=bash disable=SC2034\n\n"
      "# Subcommands and options of the subcommand $1, which is /A, or /A/B in B of A.\n"
      "_{1}_command() {{\n    case $1 in\n{2}    esac\n}}\n\n"
      "# What the value of an option is, or an operand by its place: $1 is \"/COMMAND OPTION\".\n"
      "# Options that take none have no kind; those that take one only behind = have a = here.\n"
      "_{1}_value() {{\n    kind='' words=''\n    case $1 in\n{3}    esac\n}}\n{4}{0}\n",
      program.name, name, table(program, "", command_row), table(program, "", value_rows),
      replaced(kReader, "PROGRAM", name));
}

}  // namespace e4r::tools::completion
