// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/side_options.h"

#include "app/deciders.h"
#include "app/setups.h"
#include "common/command_line.h"

namespace e4r::tools {

void declare_sides(CommandLine& app, SideArguments& options, const std::string& meaning) {
  app.add_option("--base", options.base, "the policy as it is, or kernel:FILE").type_name("POLICY");
  app.add_option("--with", options.with, meaning).type_name("POLICY");
}

void declare_side_settings(CommandLine& app, SideArguments& options) {
  app.add_option("--set", options.settings, "set a tunable for both; may be given again")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--set-with", options.with_settings,
                 "set a tunable for --with alone; may be given again")
      .type_name("NAME=VALUE")
      .may_repeat();
}

Status choose_sides(const SideArguments& options, review::Side& base, review::Side& with) {
  if (options.base.empty() || options.with.empty())
    return error("give the two policies: --base POLICY --with POLICY");
  E4R_TRY(base.policy, app::parse_policy(options.base));
  E4R_TRY(with.policy, app::parse_policy(options.with));
  E4R_TRY(base.file, app::policy_file(*base.policy));
  E4R_TRY(with.file, app::policy_file(*with.policy));
  base.settings = with.settings = options.settings;
  with.settings.insert(with.settings.end(), options.with_settings.begin(),
                       options.with_settings.end());
  if (const Status status = app::check_settings(with.settings); !status.ok())
    return error("--set: {}", status.error().message);
  if (base.policy == with.policy && options.with_settings.empty())
    return error("--base and --with are the same: give another policy, or --set-with NAME=VALUE");
  return {};
}

void declare_side_reads(const review::Side& base, const review::Side& with, Outputs& outputs) {
  const allocator::Policy* const policies[] = {base.policy, with.policy};
  app::declare_reads(policies, outputs);
}

}  // namespace e4r::tools
