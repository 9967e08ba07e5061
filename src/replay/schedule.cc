// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/schedule.h"

#include <algorithm>
#include <iterator>

namespace e4r::replay {

void CommitProgress::add_given(std::uint64_t event, std::uint64_t freed) {
  if (!commits_.empty()) commits_.back().given.push_back({event, freed});
}

void CommitProgress::add_missing(std::uint64_t event, std::uint64_t freed) {
  if (commits_.empty()) return;
  // An extent that has not been returned by now had not been returned earlier, either.
  std::vector<Point>& missing = commits_.back().missing;
  while (!missing.empty() && missing.back().freed >= freed) missing.pop_back();
  missing.push_back({event, freed});
}

bool CommitProgress::empty() const {
  return std::ranges::all_of(commits_, [](const Commit& commit) { return commit.given.empty(); });
}

std::uint64_t CommitProgress::estimate(std::uint64_t event) const {
  const auto next = std::ranges::upper_bound(commits_, event, {}, &Commit::begin);
  if (next == commits_.begin()) return 0;
  const auto commit = std::prev(next);
  if (commit->end < event || commit->given.empty()) return 0;
  // All frees of the transaction came after the previous commit began and before its own commit
  // began.
  std::uint64_t least = commit == commits_.begin() ? 0 : std::prev(commit)->begin;
  std::uint64_t most = commit->begin;
  const auto after = std::ranges::upper_bound(commit->given, event, {}, &Point::event);
  if (after != commit->given.begin()) least = std::prev(after)->freed;
  const auto missing = std::ranges::lower_bound(commit->missing, event, {}, &Point::event);
  if (missing != commit->missing.end()) most = missing->freed;
  return least < most ? least + (most - least) / 2 : least;
}

}  // namespace e4r::replay
