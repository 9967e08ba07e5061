// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "review/review.h"
#include "util/output.h"

// The options by which `review` and `hunt` name the two policies that they compare.
namespace e4r::tools {

class CommandLine;

struct SideArguments {
  std::string base, with;                            // policies
  std::vector<std::string> settings, with_settings;  // of both, of --with alone
};

// --base and --with, which `meaning` says what is with.
void declare_sides(CommandLine& app, SideArguments& options, const std::string& meaning);
// --set and --set-with.
void declare_side_settings(CommandLine& app, SideArguments& options);

// What is wrong with them, if anything is.
[[nodiscard]] Status choose_sides(const SideArguments& options, review::Side& base,
                                  review::Side& with);

// What the two policies are read from.
void declare_side_reads(const review::Side& base, const review::Side& with, Outputs& outputs);

}  // namespace e4r::tools
