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
  std::uint64_t after_ns = 0;  // by the trace's clock, when the reading ended
  std::vector<state::MbGroup> groups;
};

// What a comparison of a model with the kernel's mb_groups came to.
struct GroupsCheck {
  std::uint64_t time_ns = 0;
  std::uint64_t compared = 0;     // groups that nothing changed meanwhile
  std::uint64_t changed = 0;      // groups that changed meanwhile, so that it says nothing of them
  std::uint64_t unexplained = 0;  // likewise: find_unexplained()
  std::vector<std::uint32_t> differing;
  std::string first;  // describes the first difference
};

// The groups in which the kernel held something in memory at the start that no event has shown:
// preallocations that no request has used since. Either the counters do not explain them, or the
// counters alone have placed them, which may be the wrong place. By group.
[[nodiscard]] std::vector<bool> find_unexplained(const state::FsState& start,
                                                 const replay::WarmStart& warm);

// Compares a model that follows a live kernel with the kernel's groups. The kernel was not stopped
// while it printed them. So only groups count that stay as they are in the model, from before the
// reading until after it.
class GroupsComparison {
 public:
  // Events and their effects may be so far apart.
  static constexpr std::uint64_t kMarginNs = 100'000'000;

  // The model stands at the moment before the reading.
  explicit GroupsComparison(const state::FsState& state);
  // It stands at a moment after the reading.
  [[nodiscard]] GroupsCheck compare(const KernelGroups& kernel, allocator::Model& model,
                                    const std::vector<bool>& unexplained = {}) const;

 private:
  std::vector<state::MbGroup> before_;
};

}  // namespace e4r::watch
