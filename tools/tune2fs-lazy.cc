// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include "command.h"

namespace e4r::tools {

// One per lazytune/*.cc.
const Command& disable_command();
const Command& enable_command();
const Command& finish_command();
const Command& rearm_command();
const Command& set_command();
const Command& status_command();
const Command& verify_command();

std::span<const Command> commands() {
  static const std::array kTable = {
      status_command(), finish_command(), verify_command(),  rearm_command(),
      set_command(),    enable_command(), disable_command(),
  };
  return kTable;
}

void warn(std::string_view message) {
  fmt::print(stderr, "tune2fs-lazy: warning: {}\n", message);
}

int usage_error(std::string_view message) {
  fmt::print(stderr, "tune2fs-lazy: {} (see --help)\n", message);
  return kUsage;
}

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  tune2fs-lazy status disk.img                  what is zeroed, what is left\n"
    "  tune2fs-lazy finish /dev/vg/data --mult 5     zero what is left, gently\n"
    "  tune2fs-lazy verify disk.img                  do the flags tell the truth?\n"
    "\n"
    "`tune2fs-lazy SUBCOMMAND --help` has more, tune2fs-lazy(8) all. Exit status: 0 done,\n"
    "1 could not, 2 wrong command line, 3 verify found a flag that lies.\n";

// A word where a subcommand should be.
std::string what_went_wrong(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  const bool extras = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!extras || argc < 2 || !app.get_subcommands().empty() || argv[1][0] == '-') return e.what();
  std::string known;
  for (const Command& command : commands())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", command.name);
  return fmt::format("'{}' is no subcommand: there are {}", argv[1], known);
}

int run(int argc, char** argv) {
  CLI::App app("tune2fs-lazy: lazily initialised inode tables of an unmounted ext4 file system",
               "tune2fs-lazy");
  app.footer(kExamples);
  app.set_version_flag("--version", "tune2fs-lazy " E4R_VERSION);
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
    fmt::print(stderr, "tune2fs-lazy: {}\n", result.error().message);
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
    std::fprintf(stderr, "tune2fs-lazy: %s\n", e.what());
    return e4r::tools::kFailed;
  }
}
