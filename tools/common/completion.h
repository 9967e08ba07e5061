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

// Completion of command lines in bash, zsh and fish. The words to complete come from the declared
// options. A value's placeholder in --help determines how the value is completed.
namespace e4r::tools::completion {

struct Word {
  std::string text;  // if it ends in '=', more must follow
  std::string meaning = {};
};

// How to complete a value.
struct ValueCompletion {
  enum class Kind : std::uint8_t {
    text,  // any text; nothing to complete
    file,
    directory,
    command,  // a program, followed by its own arguments
    words,
  };
  Kind kind = Kind::text;
  std::vector<Word> words = {};
  bool list = false;  // a comma-separated list of these words
};

struct Option {
  std::vector<std::string> names;  // "-p", "--policy"
  std::string meaning;
  std::string placeholder = {};
  // maybe: a value is given only as --name=VALUE
  enum class Takes : std::uint8_t { nothing, maybe, value };
  Takes takes = Takes::nothing;
  bool again = false;  // may be given more than once
  ValueCompletion value = {};
};

struct Operand {
  std::string placeholder;
  ValueCompletion value;
  bool rest = false;  // takes this word and all that follow
};

// A program or a subcommand.
struct Node {
  std::string name;
  std::string summary;
  std::vector<Option> options;
  std::vector<Operand> operands;
  std::vector<Node> commands;
};

using ValueOf = ValueCompletion (*)(std::string_view placeholder);

// Collects the declarations on `app`, except for hidden options.
[[nodiscard]] Node node_of(const CLI::App& app, ValueOf value_of);

// The completion script for a shell ("bash", "zsh" or "fish"). Fails for any other shell.
[[nodiscard]] Result<std::string> script(std::string_view shell, const Node& program);

}  // namespace e4r::tools::completion
