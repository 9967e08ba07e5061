// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/policy.h>

#include <e4replay/own_policy.h>

#include "allocator/policy.h"
#include "app/setups.h"
#include "plugin/load.h"

namespace e4replay {
namespace {

PolicyInfo describe(const e4r::allocator::Policy& policy) {
  PolicyInfo out;
  out.name = policy.name;
  out.alias = policy.alias;
  out.summary = policy.summary;
  out.source = policy.source;
  out.kernel = policy.kernel.name;
  out.verified = policy.compared_with();
  for (const e4r::allocator::Rung& rung : policy.ladder)
    out.rungs.emplace_back(e4r::mb::criterion_name(rung.criterion));
  for (const e4r::allocator::TunableInfo& tunable : e4r::allocator::tunable_table())
    if (e4r::allocator::has_tunable(policy, tunable)) out.tunables.emplace_back(tunable.name);
  return out;
}

}  // namespace

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> out;
  for (const e4r::allocator::Policy* policy : e4r::allocator::policies())
    out.push_back(describe(*policy));
  return out;
}

Result<PolicyInfo> find_policy(const std::string& name) {
  E4R_TRY(const e4r::allocator::Policy* policy, e4r::app::parse_policy(name));
  return describe(*policy);
}

const plugin::Host& plugin_host() {
  return e4r::plugin::host();
}

Result<std::string> add_policy(const plugin::Policy& policy) {
  return e4r::plugin::add(policy);
}

void remove_policy(const std::string& name) {
  e4r::plugin::remove(name);
}

}  // namespace e4replay
