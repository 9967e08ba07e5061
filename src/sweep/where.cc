// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/where.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator/policy.h"
#include "util/text.h"

namespace e4r::sweep {
namespace {

constexpr std::size_t kLongestNamed = 4096;

std::string list_names(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names)
    out += (out.empty() ? "" : ", ") + printable(name, kLongestNamed);
  return out;
}

Result<std::string> find_text(std::string_view what, std::string_view wanted,
                              const std::vector<std::string_view>& known) {
  if (std::ranges::find(known, wanted) != known.end()) return std::string(wanted);
  return error("no {} '{}' in this sweep: it has {}", what, printable(wanted), list_names(known));
}

ConditionNames names_of(const Vocabulary& known) {
  ConditionNames out;
  out.words = {{"policy",
                [&known](std::string_view written) {
                  const allocator::Policy* alias = allocator::find_policy(written);
                  return find_text("policy", alias ? alias->name : written, known.policies);
                }},
               {"capture", [&known](std::string_view written) {
                  return find_text("capture", written, known.captures);
                }}};
  out.figure = [&known](std::string_view name) -> Result<std::size_t> {
    const auto found = std::ranges::find(known.tunables, name);
    if (found != known.tunables.end())
      return static_cast<std::size_t>(found - known.tunables.begin());
    return error("'{}' is neither a number nor a tunable set with --set{}", printable(name),
                 known.tunables.empty() ? std::string(": it gives none")
                                        : ": it gives " + list_names(known.tunables));
  };
  return out;
}

}  // namespace

Result<Where> Where::parse(std::string_view text, const Vocabulary& vocabulary) {
  Where out;
  E4R_TRY(out.condition_, Condition::parse(text, names_of(vocabulary)));
  return out;
}

bool Where::holds(const Combination& point) const {
  const Condition::Case one = {[&point](std::size_t index) -> std::optional<Condition::Number> {
                                 return point.values[index];
                               },
                               {point.policy, point.capture}};
  return condition_.holds(one).value_or(false);
}

}  // namespace e4r::sweep
