// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "common/command_line.h"
#include "common/completion.h"
#include "util/status.h"

namespace e4r::tools {

// Exit statuses of every tool of the project.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;          // could not do it; one line on stderr said why
inline constexpr int kUsage = 2;           // the command line is wrong
inline constexpr int kDisagreed = 3;       // verify ran and found disagreement
inline constexpr int kPolicyFailed = 4;    // review or hunt ran, and a policy or its kernel failed
inline constexpr int kConditionHolds = 4;  // a condition of --fail-if holds
inline constexpr int kStopped = 130;       // a signal ended a sweep that can be resumed, or a hunt

// One subcommand: its name, its line in the overview, examples for --help, and a function that
// declares the options on `app` and returns the action to run after parsing. The action returns an
// exit status, or an Error that main prints as one line and turns into kFailed.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::function<Result<int>()> (*declare)(CommandLine& app);
};

// The description and the examples of a program with subcommands. Each such program defines it.
struct Program {
  std::string_view name;
  std::string_view description;  // the first line of --help
  std::string_view examples;     // the last lines of --help
  // How to complete a value, by its placeholder in --help (`--completion SHELL`).
  completion::ValueOf value_of;
  // The parts that this build lacks, for --version. Empty: it has all.
  std::string_view left_out = {};
};
[[nodiscard]] const Program& program();
// The program's subcommands. To declare a group ("trace info"), `declare` may add nested
// subcommands.
[[nodiscard]] std::span<const Command> commands();

// Declares every subcommand, runs the chosen one, and returns its exit status. Prints errors;
// without a subcommand it prints the overview.
[[nodiscard]] int run_commands(int argc, char** argv);

// Prints "NAME: MESSAGE (see --help)" on stderr and returns kUsage.
[[nodiscard]] int usage_error(std::string_view message);

// Prints "NAME: warning: ..." on stderr.
void warn(std::string_view message);

}  // namespace e4r::tools
