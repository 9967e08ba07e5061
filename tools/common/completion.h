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

// The script for one shell.
[[nodiscard]] std::string bash_script(const Node& program);
[[nodiscard]] std::string zsh_script(const Node& program);
[[nodiscard]] std::string fish_script(const Node& program);

// Converts a name such as "tune2fs-lazy" to a part of a function name.
[[nodiscard]] std::string identifier(std::string_view name);
// `text` with every `from` replaced by `to`.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view from,
                                      std::string_view to);

// The distinct sets of words. Shell scripts get a function for each of them.
struct WordSets {
  std::vector<const ValueCompletion*> sets;
  // The 1-based index of `value` in `sets`, or 0 if `value` has no words.
  [[nodiscard]] std::size_t number_of(const ValueCompletion& value) const;
};
[[nodiscard]] WordSets word_sets(const Node& program);

}  // namespace e4r::tools::completion
