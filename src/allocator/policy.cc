// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/policy.h"

#include <algorithm>
#include <array>

// One row per policy, named after the object that its file in policies/ defines. Policies that
// model kernels are in the order in which kernels adopted their rules. (6.12.77 adopted rules of
// 6.17.)
// clang-format off
#define E4R_POLICIES(row)   \
  row(linear)               \
  row(el8)                  \
  row(linux_5_4_244)        \
  row(linux_5_4_274)        \
  row(linux_5_10_0)         \
  row(linux_5_10_181)       \
  row(linux_5_10_215)       \
  row(linux_5_15_0)         \
  row(linux_5_15_33)        \
  row(linux_5_15_71)        \
  row(linux_5_15_113)       \
  row(linux_5_15_154)       \
  row(linux_5_15_202)       \
  row(linux_6_1_0)          \
  row(linux_6_1_30)         \
  row(linux_6_1_84)         \
  row(linux_6_1_149)        \
  row(linux_6_4)            \
  row(el9_4)                \
  row(el9_5)                \
  row(el9_6)                \
  row(legacy)               \
  row(cr1_5)                \
  row(linux_6_5)            \
  row(linux_6_6_0)          \
  row(linux_6_6_24)         \
  row(linux_6_6_103)        \
  row(linux_6_6_128)        \
  row(linux_6_8)            \
  row(linux_6_14)           \
  row(linux_6_12_43)        \
  row(linux_6_12_77)        \
  row(linux_6_17)           \
  row(linux_7_3)            \
  row(linux_7_3_group_goal) \
  row(rotalloc)             \
  row(rotalloc_own_goal)    \
  row(low_first)            \
  row(spread_by_cpu)        \
  row(spread_by_inode)      \
  row(forcealign)
// clang-format on

namespace e4r::allocator {

namespace policies_of_files {
#define E4R_DECLARE(name) extern const Policy name;
E4R_POLICIES(E4R_DECLARE)
#undef E4R_DECLARE
}  // namespace policies_of_files

namespace {

#define E4R_ADDRESS(name) &policies_of_files::name,
constexpr auto kPolicies = std::to_array<const Policy*>({E4R_POLICIES(E4R_ADDRESS)});
#undef E4R_ADDRESS

}  // namespace

std::span<const Policy* const> policies() {
  return kPolicies;
}

std::vector<std::string_view> other_names(const Policy& policy) {
  std::vector<std::string_view> out;
  if (!policy.alias.empty()) out.push_back(policy.alias);
  for (const std::string_view build : policy.builds)
    if (build != policy.name && build != policy.alias) out.push_back(build);
  return out;
}

const Policy* find_policy(std::string_view name) {
  const auto* const found = std::find_if(kPolicies.begin(), kPolicies.end(), [&](const Policy* p) {
    const std::vector<std::string_view> others = other_names(*p);
    return p->name == name || std::find(others.begin(), others.end(), name) != others.end();
  });
  return found == kPolicies.end() ? nullptr : *found;
}

state::GroupIndex group_index(const Policy& policy, const Tunables& tunables) {
  const bool optimized = !policy.walk_only && tunables.mb_optimize_scan != 0;
  return optimized ? policy.kernel.groups.index : state::GroupIndex::none;
}

}  // namespace e4r::allocator
