// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/schedule.h"

#include <algorithm>
#include <iterator>

namespace e4r::replay {

void CommitProgress::add(std::uint64_t event, std::uint64_t freed) {
  if (commits_.empty()) return;
  std::vector<Point>& points = commits_.back().points;
  if (!points.empty() && points.back().event == event) points.pop_back();
  points.push_back({event, freed});
}

bool CommitProgress::empty() const {
  return std::ranges::all_of(commits_, [](const Commit& commit) { return commit.points.empty(); });
}

std::uint64_t CommitProgress::estimate(std::uint64_t event) const {
  const auto next = std::ranges::upper_bound(commits_, event, {}, &Commit::begin);
  if (next == commits_.begin() || std::prev(next)->end < event) return 0;
  const std::vector<Point>& points = std::prev(next)->points;
  if (points.size() < 2) return points.empty() || event < points[0].event ? 0 : points[0].freed;
  auto to = std::ranges::upper_bound(points, event, {}, &Point::event);
  Point from = points.front();
  if (to == points.begin() || to == points.end())
    to = std::prev(points.end());  // before or behind all points: as fast as between them
  else
    from = *std::prev(to);
  const double rate =
      static_cast<double>(to->freed - from.freed) / static_cast<double>(to->event - from.event);
  const double distance = static_cast<double>(event) - static_cast<double>(from.event);
  return static_cast<std::uint64_t>(
      std::max(0.0, static_cast<double>(from.freed) + rate * distance));
}

}  // namespace e4r::replay
