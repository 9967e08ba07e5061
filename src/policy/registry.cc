// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>

#include "policy/builtin.h"

namespace e4r::policy {
namespace {

constexpr std::array<const Policy*, 3> kPolicies = {&kLinear, &kLegacy, &kCr15};

}  // namespace

std::span<const Policy* const> policies() {
  return kPolicies;
}

const Policy* find_policy(std::string_view name) {
  const auto* const found = std::find_if(kPolicies.begin(), kPolicies.end(),
                                         [&](const Policy* p) { return p->name == name; });
  return found == kPolicies.end() ? nullptr : *found;
}

}  // namespace e4r::policy
