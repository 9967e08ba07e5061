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

// Declares every subcommand and runs the one that was chosen.
int run(int argc, char** argv) {
  CLI::App app("e4replay: replay ext4 allocation traces offline under several allocator policies");
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
    return usage_error(e.what());
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
