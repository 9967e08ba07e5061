// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/plugin.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/policy.h"

namespace e4r::plugin {

// What every file is given.
[[nodiscard]] const e4replay::plugin::Host& host();

// Whether it can be the name of a policy or a rung.
[[nodiscard]] bool is_name(std::string_view name);

// A rung of a file as the allocator knows them. `texts` of it must last. Errors: a function that
// is missing, a criterion or a tunable that is none.
[[nodiscard]] Result<allocator::Rung> own_rung(const e4replay::plugin::Rung& rung);

// A policy, and what it refers to.
struct KeptPolicy {
  using Members = std::vector<std::uint64_t allocator::Tunables::*>;

  KeptPolicy(std::string its_name, std::string its_summary, std::string its_source,
             std::vector<allocator::Rung> rungs, Members members, const allocator::Kernel& kernel)
      : name(std::move(its_name)),
        summary(std::move(its_summary)),
        source(std::move(its_source)),
        ladder(std::move(rungs)),
        tunables(std::move(members)),
        policy{.name = name,
               .summary = summary,
               .source = source,
               .ladder = ladder,
               .kernel = kernel,
               .own_tunables = tunables} {}
  KeptPolicy(const KeptPolicy&) = delete;
  KeptPolicy& operator=(const KeptPolicy&) = delete;

  const std::string name, summary, source;
  const std::vector<allocator::Rung> ladder;
  const Members tunables;
  const allocator::Policy policy;
};

}  // namespace e4r::plugin
