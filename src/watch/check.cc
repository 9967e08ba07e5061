// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/check.h"

#include <algorithm>

#include "stats/mb_files.h"

namespace e4r::watch {
namespace {

using state::FsState;
using state::MbGroup;

// Whether the committing transaction gives back clusters of the group, or some of the group's
// clusters are being discarded.
bool gets_clusters_back(allocator::Model& model, std::uint32_t group) {
  const auto committing = model.committing();
  const bool discarding = std::ranges::any_of(
      model.state().discarding(),
      [group](const FsState::Discarding& range) { return range.group == group; });
  return discarding ||
         (committing && std::ranges::any_of(model.state().freed().entries_of(group),
                                            [&](const state::FreedList::Entry& entry) {
                                              return entry.transaction == *committing;
                                            }));
}

}  // namespace

std::vector<bool> find_unexplained(const FsState& start, const replay::WarmStart& warm) {
  std::vector<bool> out(start.group_count());
  for (const MbGroup& line : warm.groups)
    if (line.number < out.size())
      out[line.number] = !stats::describe_difference(line, start.group(line.number)).empty();
  for (const replay::WarmStart::Hidden& hidden : warm.hidden)
    if (hidden.group < out.size()) out[hidden.group] = true;
  return out;
}

GroupsComparison::GroupsComparison(const FsState& state) {
  before_.reserve(state.group_count());
  for (std::uint32_t number = 0; number < state.group_count(); ++number)
    before_.push_back(state::mb_group(state.group(number)));
}

GroupsCheck GroupsComparison::compare(const KernelGroups& kernel, allocator::Model& model,
                                      const std::vector<bool>& unexplained) const {
  GroupsCheck out;
  out.time_ns = kernel.after_ns;
  const FsState& state = model.state();
  for (const MbGroup& theirs : kernel.groups) {
    if (theirs.number >= before_.size()) continue;
    const state::Group& group = state.group(theirs.number);
    if (group.corrupt) continue;
    const std::string what = stats::describe_difference(theirs, group);
    const MbGroup& before = before_[theirs.number];
    if (what.empty()) {
      ++out.compared;
    } else if (!stats::describe_difference(before, group).empty() ||
               gets_clusters_back(model, theirs.number)) {
      ++out.changed;
    } else if (theirs.number < unexplained.size() && unexplained[theirs.number]) {
      ++out.unexplained;
    } else {
      ++out.compared;
      out.differing.push_back(theirs.number);
      if (out.first.empty()) out.first = what;
    }
  }
  return out;
}

}  // namespace e4r::watch
