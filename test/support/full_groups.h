// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "support/model.h"
#include "support/sizes.h"

namespace e4r::test {

// The goal for a file of 3 MiB with 4 KiB blocks is 2 MiB.
inline constexpr std::uint32_t kGoal = 512;

// A file system of twenty full groups, each with 2048 clusters of 4 KiB. Each test frees the
// clusters that it needs.
struct FullGroups : testing::Test {
  FullGroups() : fs(shape()) {
    fs.fill();
    tunables = allocator::defaults_for(fs.geometry());
  }
  static ModelShape shape() {
    return {.name = "plain", .groups = 20, .block_bits = 12, .clusters_per_group = 2048};
  }
  [[nodiscard]] const allocator::Counters& counters() const { return rig->allocator.counters(); }

  ModelFs fs;
  allocator::Tunables tunables;
  std::optional<Rig> rig;
};

}  // namespace e4r::test
