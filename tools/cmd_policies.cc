// SPDX-License-Identifier: GPL-2.0-or-later
#include <CLI/CLI.hpp>

#include "command.h"
#include "policy/policy.h"
#include "util/file.h"
#include "util/text_table.h"

namespace e4r::tools {
namespace {

std::string overview() {
  TextTable table;
  std::string text;
  for (const policy::Policy* p : policy::policies()) {
    text += fmt::format("{:<8}  {}\n", p->name, p->summary);
    std::string rungs;
    for (const policy::Rung& rung : p->ladder)
      rungs +=
          fmt::format("{}{}", rungs.empty() ? "" : ", ", trace::criterion_name(rung.criterion));
    text += fmt::format("{:<8}  {}\n", "", rungs);
  }
  return text + "\n`e4replay policies NAME` shows the rungs and tunables of one.\n";
}

std::string details(const policy::Policy& p) {
  std::string text = fmt::format("{}: {}\nsource: {}\n\nrungs, in the order they are tried\n",
                                 p.name, p.summary, p.source);
  for (const policy::Rung& rung : p.ladder)
    text += fmt::format("  {:<6} {}{}\n", trace::criterion_name(rung.criterion), rung.meaning,
                        rung.skip_short ? "; shorter extents are stepped over" : "");
  text += "\ntunables (--set NAME=VALUE); defaults for 4 KiB blocks and 16 groups per flex group\n";
  state::Geometry usual;
  usual.groups = 2048;
  usual.flex_bg = true;
  usual.log_groups_per_flex = 4;
  policy::Tunables defaults = policy::defaults_for(usual);
  if (p.walk_only) defaults.mb_optimize_scan = 0;
  for (const policy::TunableInfo& info : policy::tunable_table())
    text += fmt::format("  {:<24} {:>5}  {}\n", info.name, defaults.*(info.member), info.meaning);
  return text;
}

std::function<Result<int>()> declare(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("name", *name, "policy to describe")->type_name("NAME");
  return [name]() -> Result<int> {
    if (name->empty()) {
      E4R_CHECK(write_output(overview(), "-"));
      return kDone;
    }
    const policy::Policy* policy = policy::find_policy(*name);
    if (policy == nullptr)
      return error("unknown policy '{}': `e4replay policies` lists them", *name);
    E4R_CHECK(write_output(details(*policy), "-"));
    return kDone;
  };
}

}  // namespace

const Command& policies_command() {
  static const Command kCommand = {"policies", "allocator policies, their rungs and tunables",
                                   "  e4replay policies\n"
                                   "  e4replay policies cr1.5\n",
                                   declare};
  return kCommand;
}

}  // namespace e4r::tools
