// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "common/print_line.h"
#include "common/version.h"

namespace e4r::tools {
namespace {

// Returns the message for a parse error. If an unknown word is in the place of a subcommand, the
// message lists the valid subcommands.
std::string what_went_wrong(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  for (const CLI::App* chosen : app.get_subcommands())
    if (const auto below = chosen->get_subcommands({});
        !below.empty() && chosen->get_subcommands().empty()) {
      std::string names;
      for (const CLI::App* one : below) names += (names.empty() ? "" : ", ") + one->get_name();
      return fmt::format("{} needs one of its subcommands: {}", chosen->get_name(), names);
    }
  const bool extras = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!extras || argc < 2 || !app.get_subcommands().empty() || argv[1][0] == '-') return e.what();
  std::string known;
  for (const Command& command : commands())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", command.name);
  return fmt::format("'{}' is not a subcommand: choose from {}", argv[1], known);
}

int print_completion(const std::string& shell, const CLI::App& app) {
  const auto script = completion::script(shell, completion::node_of(app, program().value_of));
  if (!script.ok()) return usage_error(script.error().message);
  print_text(*script);
  return kDone;
}

}  // namespace

void warn(std::string_view message) {
  print_line(stderr, "{}: warning: {}", program().name, message);
}

int usage_error(std::string_view message) {
  print_line(stderr, "{}: {} (see --help)", program().name, message);
  return kUsage;
}

int run_commands(int argc, char** argv) {
  const Program& self = program();
  CLI::App app(std::string(self.description), std::string(self.name));
  app.footer(std::string(self.examples));
  app.set_version_flag("--version",
                       self.left_out.empty()
                           ? version_line()
                           : fmt::format("{}\nwithout {}", version_line(), self.left_out));
  std::string shell;
  app.add_option("--completion", shell)->group("");  // hidden; used by the build
  app.require_subcommand(0, 1);
  std::vector<std::pair<CommandLine, std::function<Result<int>()>>> entries;
  for (const Command& command : commands()) {
    CommandLine sub = CommandLine(app).add_subcommand(
        std::string(command.name), std::string(command.summary), std::string(command.examples));
    entries.emplace_back(sub, command.declare(sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_error(what_went_wrong(app, e, argc, argv));
  }
  if (!shell.empty()) return print_completion(shell, app);
  for (const auto& [sub, action] : entries) {
    if (!sub.parsed()) continue;
    const Result<int> result = action();
    if (result.ok()) return *result;
    print_line(stderr, "{}: {}", self.name, result.error().message);
    return kFailed;
  }
  print_text(app.help());
  return kDone;
}

}  // namespace e4r::tools
