// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <deque>
#include <mutex>

#include "plugin/host.h"
#include "plugin/load.h"

namespace e4r::plugin {
namespace {

// Finds a criterion by its name, which may be one that a file defines.
Result<mb::Criterion> criterion_named(const std::string& name) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    if (row.name == name) return row.criterion;
  const auto own = is_name(name) ? mb::own_criterion(name) : std::nullopt;
  if (!own) return error("'{}' is not a rung", name);
  return *own;
}

}  // namespace

Description describe(const allocator::Policy& policy) {
  Description out;
  out.name = policy.name;
  for (const allocator::Policy* of : allocator::policies())
    if (out.kernel.empty() && &of->kernel == &policy.kernel) out.kernel = of->name;
  for (const allocator::Rung& rung : policy.ladder) {
    const allocator::TunableInfo* tunable = allocator::find_tunable(rung.tunable);
    out.rungs.push_back({std::string(mb::criterion_name(rung.criterion)),
                         tunable == nullptr ? std::string() : std::string(tunable->name)});
  }
  for (const auto member : policy.own_tunables)
    if (const allocator::TunableInfo* info = allocator::find_tunable(member))
      out.tunables.push_back(
          {std::string(info->name), std::string(info->meaning), info->fallback, info->max});
  return out;
}

Result<const allocator::Policy*> noted_policy(const Description& description) {
  const allocator::Policy* of = allocator::find_policy(description.kernel);
  if (of == nullptr || !is_name(description.name) || description.rungs.empty())
    return error("'{}' is not a policy from a file", description.name);
  KeptPolicy::Members tunables;
  for (const Description::Tunable& own : description.tunables) {
    E4R_TRY(const allocator::TunableInfo* info,
            allocator::add_own_tunable(own.name, own.meaning, own.fallback, own.max));
    tunables.push_back(info->member);
  }
  std::vector<allocator::Rung> ladder;
  for (const Description::Rung& rung : description.rungs) {
    allocator::Rung out = {};
    E4R_TRY(out.criterion, criterion_named(rung.name));
    if (!rung.tunable.empty()) {
      const allocator::TunableInfo* info = allocator::find_tunable(rung.tunable);
      if (info == nullptr) return error("'{}' is not a tunable", rung.tunable);
      out.tunable = info->member;
    }
    ladder.push_back(out);
  }
  static std::mutex adding;
  static std::deque<KeptPolicy> all;
  const std::lock_guard lock(adding);
  return &all.emplace_back(description.name, "a note that cannot decide", description.name,
                           std::move(ladder), std::move(tunables), of->kernel)
              .policy;
}

}  // namespace e4r::plugin
