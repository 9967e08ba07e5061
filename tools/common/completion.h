// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace CLI {
class App;
}

// Completion of command lines in bash, zsh and fish. What there is to complete comes from the
// options as they are declared; what completes a value follows from its placeholder in --help.
namespace e4r::tools::completion {

struct Word {
  std::string text;  // one that ends in '=' is not complete: something is to stand behind it
  std::string meaning = {};
};

// What can stand where a value does.
struct Value {
  enum class Kind : std::uint8_t {
    text,  // what nobody can know
    file,
    directory,
    command,  // the first word of one, with its own behind it
    words,
  };
  Kind kind = Kind::text;
  std::vector<Word> words = {};
  bool list = false;  // several of the words, with commas between them
};

struct Option {
  std::vector<std::string> names;  // "-p", "--policy"
  std::string meaning;
  std::string placeholder = {};
  enum class Takes : std::uint8_t { nothing, maybe, value };  // maybe: only as --name=VALUE
  Takes takes = Takes::nothing;
  bool again = false;  // may be given more than once
  Value value = {};
};

struct Operand {
  std::string placeholder;
  Value value;
  bool rest = false;  // this and all that follow
};

// A program or a subcommand.
struct Node {
  std::string name;
  std::string summary;
  std::vector<Option> options;
  std::vector<Operand> operands;
  std::vector<Node> commands;
};

using ValueOf = Value (*)(std::string_view placeholder);

// What is declared on `app`, but for options that --help does not show.
[[nodiscard]] Node node_of(const CLI::App& app, ValueOf value_of);

// The file that a shell ("bash", "zsh" or "fish") is to read. Error: another shell.
[[nodiscard]] Result<std::string> script(std::string_view shell, const Node& program);

// One each.
[[nodiscard]] std::string bash_script(const Node& program);
[[nodiscard]] std::string zsh_script(const Node& program);
[[nodiscard]] std::string fish_script(const Node& program);

// "tune2fs-lazy" as a part of a function's name.
[[nodiscard]] std::string identifier(std::string_view name);
// `text` with every `from` become `to`.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view from,
                                   std::string_view to);

// The words of a value, each once: shells give them a function.
struct WordSets {
  std::vector<const Value*> sets;
  // Where `value` is among them, from 1 on; 0: it has no words.
  [[nodiscard]] std::size_t number_of(const Value& value) const;
};
[[nodiscard]] WordSets word_sets(const Node& program);

}  // namespace e4r::tools::completion
