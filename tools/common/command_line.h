// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The command line of a program or subcommand, on which options are declared. It wraps CLI11, a
// header-only library, so that CLI11 is compiled only once and not in each file that declares an
// option.
namespace e4r::tools {

// Sets further properties of a declared option.
class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option* option) : option_(option) {}
  DeclaredOption type_name(const std::string& placeholder);  // sets the placeholder for its value
                                                             // in --help
  DeclaredOption required();
  DeclaredOption may_repeat();      // allows several uses, each with one value
  DeclaredOption may_lack_value();  // allows the option without a value; the value is then empty
  DeclaredOption takes_the_rest();  // for an operand: takes one or more words
  DeclaredOption one_of(const std::vector<std::string>& words);
  DeclaredOption excludes(DeclaredOption other);
  DeclaredOption needs(DeclaredOption other);
  DeclaredOption show_default();  // shows the variable's current value as the default

 private:
  CLI::Option* option_;
};

// Refers to the CLI11 object; copies refer to the same object.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}

  // `names` is for example "-p,--policy"; a name without a dash is an operand. Parsing sets
  // `value`, which must live until then. The end of command_line.cc lists the supported types T.
  template <class T>
  DeclaredOption add_option(const std::string& names, T& value, const std::string& meaning = {});
  // Calls `take` with the argument. Its Error becomes a usage error.
  DeclaredOption add_option(const std::string& names,
                            std::function<Status(const std::string&)> take,
                            const std::string& meaning);
  // Sets `value` to what `parse` makes of the argument.
  template <class T, class Value>
  DeclaredOption add_option(const std::string& names, Value& value,
                            Result<T> (*parse)(std::string_view), const std::string& meaning) {
    return add_option(
        names,
        [&value, parse](const std::string& text) -> Status {
          E4R_TRY(value, parse(text));
          return {};
        },
        meaning);
  }
  DeclaredOption add_flag(const std::string& names, bool& value, const std::string& meaning);
  // "--fix{clear}" is a flag with an optional value, given as --fix=VALUE; the default is "clear".
  DeclaredOption add_flag(const std::string& names, std::string& value, const std::string& meaning);

  [[nodiscard]] CommandLine add_subcommand(const std::string& name, const std::string& summary,
                                           const std::string& examples);
  void require_subcommand();
  [[nodiscard]] bool parsed() const;  // whether this subcommand was chosen

 private:
  CLI::App* app_;
};

}  // namespace e4r::tools
