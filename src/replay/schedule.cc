// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/schedule.h"

#include <algorithm>
#include <iterator>

namespace e4r::replay {

void CommitProgress::add_given(std::uint64_t event, std::uint64_t freed) {
  if (!commits_.empty()) commits_.back().notes.given.push_back({event, freed});
}

void CommitProgress::add_missing(std::uint64_t event, std::uint64_t freed) {
  if (commits_.empty()) return;
  // An extent that has not been returned at one event had not been returned earlier, either.
  std::vector<Point>& missing = commits_.back().notes.missing;
  const auto says_more = [&](const Point& a, const Point& b) {
    return a.event >= b.event && a.freed <= b.freed;
  };
  const Point point = {event, freed};
  if (std::ranges::any_of(missing, [&](const Point& other) { return says_more(other, point); }))
    return;
  std::erase_if(missing, [&](const Point& other) { return says_more(point, other); });
  missing.insert(std::ranges::upper_bound(missing, event, {}, &Point::event), point);
}

const CommitProgress::Commit* CommitProgress::find(std::uint64_t event) const {
  const auto next = std::ranges::upper_bound(commits_, event, {}, &Commit::begin);
  return next == commits_.begin() || std::prev(next)->end < event ? nullptr : &*std::prev(next);
}

std::uint64_t CommitProgress::first_missing(std::uint64_t event) const {
  const Commit* commit = find(event);
  if (commit == nullptr) return UINT64_MAX;
  const auto missing = std::ranges::lower_bound(commit->notes.missing, event, {}, &Point::event);
  return missing == commit->notes.missing.end() ? UINT64_MAX : missing->freed;
}

std::uint64_t CommitProgress::estimate(std::uint64_t event) const {
  const Commit* commit = find(event);
  if (commit == nullptr || commit->notes.given.empty()) return 0;
  // All frees of the transaction came after the previous commit began and before its own commit
  // began.
  std::uint64_t least = commit == commits_.data() ? 0 : std::prev(commit)->begin;
  std::uint64_t most = commit->begin;
  const auto after = std::ranges::upper_bound(commit->notes.given, event, {}, &Point::event);
  if (after != commit->notes.given.begin()) least = std::prev(after)->freed;
  most = std::min(most, first_missing(event));
  return least < most ? least + (most - least) / 2 : least;
}

}  // namespace e4r::replay
