// SPDX-License-Identifier: GPL-2.0-or-later
// A plug-in policy (docs/adding-a-policy.md). Before CR2 scans groups whose free clusters are in
// short pieces, it tries the groups with the largest free chunks, down to a quarter of the goal, or
// to the fraction given by `--set roomy_parts=N`.
//   c++ -std=c++20 -O2 -shared -fPIC roomy.cc $(pkg-config --cflags e4replay) -o roomy.so
//   e4replay replay run.e4c -p legacy,./roomy.so
#include <e4replay/plugin.h>

#include <algorithm>
#include <array>
#include <bit>

namespace {

using namespace e4replay::plugin;

constexpr Tunable kParts = {"roomy_parts", "the smallest chunk is the goal divided by this", 4, 64};

// Order of the smallest acceptable chunk, never smaller than the request.
std::uint32_t least_order(const Search& search) {
  const auto parts =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(tunable(search, kParts.name), 1));
  const std::uint32_t least = std::max({full_goal_len(search) / parts, asked_len(search), 2u});
  return static_cast<std::uint32_t>(std::bit_width(least - 1));
}

bool good_roomy(const Search& search, const Group& group) {
  return good_any(search, group) &&
         largest_order(group) >= static_cast<std::int32_t>(least_order(search));
}

std::optional<std::uint32_t> choose_roomy(Search& search) {
  for (std::uint32_t order = orders(search); order-- > least_order(search);) {
    for (const Group& group : by_largest(search, order)) {
      if (!is_usable(search, number(group))) continue;
      count_group(search);
      if (!good_roomy(search, group)) continue;
      set_goal_len(search, std::min(full_goal_len(search), 1u << order));
      return number(group);
    }
  }
  restore_goal(search);
  return std::nullopt;
}

Rung largest_first() {
  Rung out;
  out.name = "roomy";
  out.meaning = "the group with the largest free chunk, down to a quarter of the goal";
  out.fast = true;
  out.striped = true;
  out.lengths = Lengths::long_runs;  // the chunk is there
  out.applies = has_lists;
  out.least_free = one_cluster;
  out.good = good_roomy;
  out.choose = choose_roomy;
  out.leave = restore_goal;
  return out;
}

}  // namespace

E4REPLAY_POLICY {
  static const std::array ladder = {cr0(), cr1(), largest_first(), cr2(), cr3()};
  Policy policy;
  policy.name = "roomy";
  policy.summary = "legacy with a rung for the largest free chunks between CR1 and CR2";
  policy.source = "docs/adding-a-policy.md";
  policy.kernel = "legacy";
  policy.ladder = ladder.data();
  policy.rungs = ladder.size();
  policy.tunables = &kParts;
  policy.tunable_count = 1;
  return policy;
}
