// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <vector>

#include "allocator/policy.h"
#include "common/command.h"
#include "common/print_line.h"
#include "plugin/load.h"
#include "util/file.h"
#include "util/text.h"

namespace e4r::tools {
namespace cmd_policies {
namespace {

std::string_view verification_text(const allocator::Policy& p) {
  if (!p.verified.empty()) return p.verified;
  return p.code.empty() ? "no: it was never compared with a kernel" : "only against the code:";
}

// The policy's other names, separated by commas.
std::string other_names_of(const allocator::Policy& p) {
  std::string out;
  for (const std::string_view other : allocator::other_names(p))
    out += fmt::format("{}{}", out.empty() ? "" : ", ", other);
  return out;
}

// Returns a line that begins with `name` and names the code with which the policy was compared, in
// addition to recordings. Returns "" if there is no such code.
std::string code_line(const allocator::Policy& p, std::string_view name) {
  return p.code.empty() ? std::string() : fmt::format("{}{}\n", name, p.code);
}

// Returns the built-in policies and the policies from files. A file that contains no policy is
// skipped with a warning.
std::vector<const allocator::Policy*> all_policies() {
  const auto own = allocator::policies();
  std::vector<const allocator::Policy*> out(own.begin(), own.end());
  for (const std::string& file : plugin::files()) {
    const auto policy = plugin::load(file);
    if (!policy.ok())
      warn(policy.error().message);
    else if (std::find(out.begin(), out.end(), *policy) == out.end())
      out.push_back(*policy);
  }
  return out;
}

std::string overview() {
  const std::vector<const allocator::Policy*> all = all_policies();
  std::size_t width = 0;
  for (const allocator::Policy* p : all) width = std::max(width, p->name.size());
  std::string text;
  for (const allocator::Policy* p : all) {
    text += fmt::format("{:<{}}  {}\n", p->name, width, p->summary);
    std::string rungs;
    for (const allocator::Rung& rung : p->ladder)
      rungs += fmt::format("{}{}", rungs.empty() ? "" : ", ", mb::criterion_name(rung.criterion));
    if (const std::string others = other_names_of(*p); !others.empty())
      rungs += "; also named " + others;
    text += fmt::format("{:<{}}  {}\n{:<{}}  verified: {}\n", "", width, rungs, "", width,
                        verification_text(*p));
    text += code_line(*p, fmt::format("{:<{}}  code:     ", "", width));
  }
  if (!plugin::opens_files())
    text +=
        "\nThis e4replay was built without shared libraries, and loads no policies from files.\n";
  return text +
         "\n`e4replay policies NAME` shows the rungs and tunables of one. linux-6.12 names the "
         "latest "
         "rules of 6.12.y,\nand linux-6.12.0 the first; other series likewise. docs/kernels.md "
         "says "
         "which kernel has which.\n";
}

std::string details(const allocator::Policy& p) {
  const std::string others = other_names_of(p);
  std::string text = fmt::format(
      "{}: {}\n{}source:   {}\nkernel:   {}\nverified: {}\n{}\nrungs, in the order they are "
      "tried\n",
      p.name, p.summary, others.empty() ? "" : fmt::format("aliases:  {}\n", others), p.source,
      p.kernel.name, verification_text(p), code_line(p, "code:     "));
  for (const allocator::Rung& rung : p.ladder)
    text += fmt::format(
        "  {:<10} {}{}\n", mb::criterion_name(rung.criterion), rung.meaning,
        rung.lengths != allocator::Lengths::all ? "; shorter extents are stepped over" : "");
  text += "\ntunables (--set NAME=VALUE); defaults for 4 KiB blocks and 16 groups per flex group\n";
  state::MountedGeometry usual;
  usual.groups = 2048;
  usual.flex_bg = true;
  usual.log_groups_per_flex = 4;
  allocator::Tunables defaults = allocator::defaults_for(usual);
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    if (allocator::has_tunable(p, info))
      text +=
          fmt::format("  {:<28} {:>5}  {}\n", info.name, value_of(defaults, info), info.meaning);
  return text;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("name", *name, "policy to describe").type_name("NAME");
  return [name]() -> Result<int> {
    if (name->empty()) {
      print_report(overview());
      return kDone;
    }
    E4R_TRY(const allocator::Policy* policy, plugin::find_policy(*name));
    if (policy == nullptr)
      return error("unknown policy '{}': `e4replay policies` lists them", *name);
    print_report(details(*policy));
    return kDone;
  };
}

}  // namespace
}  // namespace cmd_policies

const Command& policies_command() {
  static const Command kCommand = {"policies", "allocator policies, their rungs and tunables",
                                   "  e4replay policies\n"
                                   "  e4replay policies cr1.5\n",
                                   cmd_policies::declare};
  return kCommand;
}

}  // namespace e4r::tools
