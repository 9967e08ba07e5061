// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "app/inputs.h"

// The options that `replay` and `verify` have in common.
namespace e4r::tools {

class CommandLine;

struct InputArguments : app::InputOptions {
  std::string json;
  bool no_progress = false;
};

// What --any-ratio is for, on every command that reads traces.
inline constexpr const char* kAnyRatioHelp =
    "read a packed trace that unpacks to more than 500 times its size, as no recording does";

// Declares them on a subcommand.
void declare_inputs(CommandLine& app, InputArguments& options);

}  // namespace e4r::tools
