// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "command.h"

namespace e4r::tools {

void warn(std::string_view message) {
  fmt::print(stderr, "e4replay: warning: {}\n", message);
}

int usage_error(std::string_view message) {
  fmt::print(stderr, "e4replay: {} (see --help)\n", message);
  return kUsage;
}

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  e4replay verify start.img run.trace.zst       does the model decide like the kernel did?\n"
    "  e4replay replay start.img run.trace.zst -p legacy,cr1.5 --histogram\n"
    "                                                what would CR1.5 have made of it?\n"
    "  e4replay trace info run.trace.zst             what is in the trace, what is missing\n"
    "  e4replay freefrag disk.img                    free extents by size\n"
    "\n"
    "`e4replay SUBCOMMAND --help` has more. Exit status: 0 done, 1 could not, 2 wrong command "
    "line,\n"
    "3 verify found disagreement.\n";

// A word where a subcommand should be.
std::string what_went_wrong(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  const bool extras = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!extras || argc < 2 || !app.get_subcommands().empty() || argv[1][0] == '-') return e.what();
  std::string known;
  for (const Command& command : commands())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", command.name);
  return fmt::format("'{}' is no subcommand: there are {}", argv[1], known);
}

// Declares every subcommand and runs the one that was chosen.
int run(int argc, char** argv) {
  CLI::App app("e4replay: replay ext4 allocation traces offline under several allocator policies",
               "e4replay");
  app.footer(kExamples);
  app.set_version_flag("--version", "e4replay " E4R_VERSION);
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, std::function<Result<int>()>>> entries;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer("Examples:\n" + std::string(command.examples));
    entries.emplace_back(sub, command.declare(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_error(what_went_wrong(app, e, argc, argv));
  }
  for (const auto& [sub, action] : entries) {
    if (!sub->parsed()) continue;
    const Result<int> result = action();
    if (result.ok()) return *result;
    fmt::print(stderr, "e4replay: {}\n", result.error().message);
    return kFailed;
  }
  fmt::print("{}", app.help());
  return kDone;
}

}  // namespace
}  // namespace e4r::tools

int main(int argc, char** argv) {
  try {
    return e4r::tools::run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, a failing stream: still one line
    std::fprintf(stderr, "e4replay: %s\n", e.what());
    return e4r::tools::kFailed;
  }
}
