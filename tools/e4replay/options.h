// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "app/run_spec.h"
#include "common/completion.h"
#include "review/review.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::tools {

// What completes a value, by its placeholder in --help.
[[nodiscard]] completion::ValueCompletion value_of(std::string_view placeholder);

// The captures that come with the project: traces/*.e4c, and the corpus of captures of real
// programs (traces/corpus, docs/corpus.md). They are installed as share/e4replay/captures and
// share/e4replay/corpus beside the bin that this program is in. A program in the source tree that
// it was built from uses the files there.

// Returns the directory of the corpus, or "" if it is not installed.
[[nodiscard]] std::string find_corpus();

// Returns the path of a capture that comes with the project for its name, with or without ".e4c".
// Returns `word` itself if it has a '/', if there is such a file, or if no capture has that name.
[[nodiscard]] std::string find_capture(const std::string& word);

// Returns the captures in one file each in the directory, by name. The Error: it has no capture.
[[nodiscard]] Result<std::vector<std::string>> captures_in(const std::string& directory);

// The options that `replay` and `verify` have in common.

class CommandLine;

struct InputArguments {
  app::InputOptions open;            // what to open
  app::RunSpec spec;                 // what to run on it; see resolve()
  std::vector<std::string> fail_if;  // conditions (app/fail_if.h)
  std::string json;
  bool no_progress = false;
};

// What --any-ratio is for, on every command that reads traces.
inline constexpr const char* kAnyRatioHelp =
    "read a packed trace that unpacks to more than 500 times its size, as no recording does";

// What --explain takes: the number of a decision, or also no number (RunSpec::causes).
enum class Explain : std::uint8_t { decisions, policies_too };

// Declares them on a subcommand.
void declare_inputs(CommandLine& app, InputArguments& options,
                    Explain explain = Explain::decisions);

// Declares --fail-if, which replay, verify and review have.
void declare_fail_if(CommandLine& app, std::vector<std::string>& conditions);

// Prints the line that says which condition holds (app::find_failure), if one does. Returns the
// exit status.
[[nodiscard]] int status_of_conditions(const std::string& failure);

// Completes what to open and what to run once the command line is read. The Error is one of usage.
[[nodiscard]] Status resolve(InputArguments& options);

// The options by which `review` and `hunt` name the two policies that they compare.

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
