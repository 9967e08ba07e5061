// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "util/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The command line of a program or of one subcommand, on which options are declared. It is CLI11's,
// which is a header without a library: compiled behind this interface once, and not again by each
// file that declares an option.
namespace e4r::tools {

// An option that has been declared, and what more there is to say of it.
class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option* option) : option_(option) {}
  DeclaredOption type_name(const std::string& placeholder);  // as --help shows its value
  DeclaredOption required();
  DeclaredOption may_repeat();      // one value each time
  DeclaredOption may_lack_value();  // it is empty then
  DeclaredOption takes_the_rest();  // of an operand: one or more
  DeclaredOption one_of(const std::vector<std::string>& words);
  DeclaredOption excludes(DeclaredOption other);
  DeclaredOption needs(DeclaredOption other);
  DeclaredOption show_default();  // the value that the variable has now

 private:
  CLI::Option* option_;
};

// Refers to what it was made of; copies refer to the same.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}

  // `names` as in "-p,--policy"; without a dash it is an operand. Parsing sets the value, which has
  // to live until then. Which T there are, the end of command_line.cc says.
  template <class T>
  DeclaredOption add_option(const std::string& names, T& value, const std::string& meaning = {});
  // Calls `take` with the text; its error is that of a wrong command line.
  DeclaredOption add_option(const std::string& names,
                            std::function<Status(const std::string&)> take,
                            const std::string& meaning);
  DeclaredOption add_flag(const std::string& names, bool& value, const std::string& meaning);
  // "--fix{clear}": a flag that may take a value, as --fix=VALUE; without one it is "clear".
  DeclaredOption add_flag(const std::string& names, std::string& value, const std::string& meaning);

  [[nodiscard]] CommandLine add_subcommand(const std::string& name, const std::string& summary,
                                           const std::string& examples);
  void require_subcommand();
  [[nodiscard]] bool parsed() const;  // whether it is the subcommand that was chosen

 private:
  CLI::App* app_;
};

}  // namespace e4r::tools
