// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "app/setups.h"
#include "common/command_line.h"
#include "common/completion.h"
#include "review/review.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::tools {

// Returns how to complete the value of an option with this placeholder in --help.
[[nodiscard]] completion::ValueCompletion value_of(std::string_view placeholder);

// The captures that come with the project: traces/*.e4c, and the corpus of captures of real
// programs (traces/corpus, docs/corpus.md). They are installed as share/e4replay/captures and
// share/e4replay/corpus next to the bin directory of this program. A program that is still in the
// source tree from which it was built uses the files of that tree.

// Returns the directory of the corpus, or "" if it is not installed.
[[nodiscard]] std::string find_corpus();

// Returns the path of the bundled capture with that name, with or without ".e4c". Returns `word`
// itself if it contains a '/', if a file with that name exists, or if no bundled capture has that
// name.
[[nodiscard]] std::string find_capture(const std::string& word);

// Returns the captures in the directory (one file each), ordered by name. Fails if the directory
// has no capture.
[[nodiscard]] Result<std::vector<std::string>> captures_in(const std::string& directory);

// The options that `replay` and `verify` have in common.

struct InputArguments {
  app::InputOptions open;            // the files to open
  app::RunSpec spec;                 // the runs to make; see resolve()
  std::vector<std::string> fail_if;  // conditions (app/fail_if.h)
  std::string json;
  bool no_progress = false;
};

// The help text of --any-ratio, for every command that reads traces.
inline constexpr const char* kAnyRatioHelp =
    "read a packed trace that unpacks to more than 500 times its size, as no recording does";

// Whether --explain requires the number of a decision, or may also be given without one
// (RunSpec::causes).
enum class Explain : std::uint8_t { decisions, policies_too };

// Declares these options on a subcommand.
void declare_inputs(CommandLine& app, InputArguments& options,
                    Explain explain = Explain::decisions);

// Declares --fail-if, for replay, verify and review.
void declare_fail_if(CommandLine& app, std::vector<std::string>& conditions);

// Prints `failure`, the result of app::find_failure(), unless it is empty. Returns the exit status.
[[nodiscard]] int status_of_conditions(const std::string& failure);

// Completes `open` and `spec` after the command line has been parsed. An Error is a usage error.
[[nodiscard]] Status resolve(InputArguments& options);

// The options by which `review` and `hunt` name the two policies that they compare.

struct SideArguments {
  std::string base, with;                            // policies
  std::vector<std::string> settings, with_settings;  // for both policies; for --with only
};

// Declares --base and --with. `meaning` describes --with.
void declare_sides(CommandLine& app, SideArguments& options, const std::string& meaning);
// Declares --set and --set-with.
void declare_side_settings(CommandLine& app, SideArguments& options);

// Checks these options and fills `base` and `with`.
[[nodiscard]] Status choose_sides(const SideArguments& options, review::Side& base,
                                  review::Side& with);

// Declares the files from which the two policies are read.
void declare_side_reads(const review::Side& base, const review::Side& with, Outputs& outputs);

// The option --kernel-log of commands that take policies. It saves the console output of policies
// that are kernels.

void declare_kernel_log(CommandLine& app, std::string& file);

// Runs the command, then writes to the file everything that its kernels printed, even if the
// command failed. If `file` is empty, nothing is kept. The command itself refuses a file that it
// cannot write (Outputs).
[[nodiscard]] Result<int> with_kernel_log(const std::string& file,
                                          const std::function<Result<int>()>& run);

}  // namespace e4r::tools
