// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/plugin.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/policy.h"

namespace e4r::plugin {

// The functions that every policy file receives.
[[nodiscard]] const e4replay::plugin::Host& host();

// Whether the text is a valid name for a policy or a rung.
[[nodiscard]] bool is_name(std::string_view name);

// Converts a file's rung for the allocator. The texts of `rung` must outlive the result. Errors: a
// missing function; an unknown criterion or tunable.
[[nodiscard]] Result<allocator::Rung> own_rung(const e4replay::plugin::Rung& rung);

// A policy with all that it refers to.
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
