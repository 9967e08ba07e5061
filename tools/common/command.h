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

// Exit statuses of all tools of the project.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;          // the work could not be done; a line on stderr says why
inline constexpr int kUsage = 2;           // the command line is wrong
inline constexpr int kDisagreed = 3;       // verify ran and found disagreement
inline constexpr int kPolicyFailed = 4;    // review or hunt ran, and a policy or its kernel failed
inline constexpr int kConditionHolds = 4;  // a condition of --fail-if holds
inline constexpr int kStopped = 130;       // a signal ended a sweep that can be resumed, or a hunt

// A subcommand: its name, its line in the overview, examples for --help, and a function that
// declares the options on `app` and returns the action to run after parsing. The action returns an
// exit status, or an Error, which main prints as one line before it exits with kFailed.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::function<Result<int>()> (*declare)(CommandLine& app);
};

// The description and the examples of a program with subcommands. Each such program defines
// program().
struct Program {
  std::string_view name;
  std::string_view description;  // the first line of --help
  std::string_view examples;     // the last lines of --help
  // Returns how to complete the value of an option with a given placeholder in --help
  // (`--completion SHELL`).
  completion::ValueOf value_of;
  // The parts that this build lacks, for --version. Empty if it has all.
  std::string_view left_out = {};
};
[[nodiscard]] const Program& program();
// The program's subcommands. For a group such as "trace info", `declare` adds nested subcommands.
[[nodiscard]] std::span<const Command> commands();

// Declares all subcommands, runs the chosen one, and returns its exit status. Prints errors; if
// there is no subcommand, prints the overview.
[[nodiscard]] int run_commands(int argc, char** argv);

// Prints "NAME: MESSAGE (see --help)" on stderr and returns kUsage.
[[nodiscard]] int usage_error(std::string_view message);

// Prints "NAME: warning: ..." on stderr.
void warn(std::string_view message);

}  // namespace e4r::tools
