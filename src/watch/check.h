// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/model.h"
#include "replay/warm_start.h"
#include "state/group.h"

namespace e4r::watch {

// The kernel's mb_groups, read while the file system was in use.
struct KernelGroups {
  std::uint64_t after_ns = 0;  // when the reading ended, by the trace's clock
  std::vector<state::MbGroup> groups;
};

// The result of comparing a model with the kernel's mb_groups.
struct GroupsCheck {
  std::uint64_t time_ns = 0;
  std::uint64_t compared = 0;     // groups that did not change during the reading
  std::uint64_t changed = 0;      // groups that changed, so they cannot be compared
  std::uint64_t unexplained = 0;  // groups left out because of find_unexplained()
  std::vector<std::uint32_t> differing;
  std::string first;  // describes the first difference
};

// Returns for each group whether the kernel may have held preallocations in memory at the start
// that the events do not show, because no request has used them since. That is the case if the warm
// start does not reproduce the group's counters, or if it deduced the places of preallocations from
// the counters alone, since these places may be wrong.
[[nodiscard]] std::vector<bool> find_unexplained(const state::FsState& start,
                                                 const replay::WarmStart& warm);

// Compares a model that follows a live kernel with the kernel's groups. The kernel ran while it
// printed them, so a group is compared only if it does not change in the model from a moment before
// the reading to a moment after the reading.
class GroupsComparison {
 public:
  // The longest time assumed between an event and its effect.
  static constexpr std::uint64_t kMarginNs = 100'000'000;

  // The model must be at a moment before the reading.
  explicit GroupsComparison(const state::FsState& state);
  // The model must be at a moment after the reading.
  [[nodiscard]] GroupsCheck compare(const KernelGroups& kernel, allocator::Model& model,
                                    const std::vector<bool>& unexplained = {}) const;

 private:
  std::vector<state::MbGroup> before_;
};

}  // namespace e4r::watch
