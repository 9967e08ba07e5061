// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "age/ager.h"
#include "image/fs_info.h"
#include "stats/layout.h"
#include "stats/settled.h"

namespace e4r::tools {

// What `e4replay age` tells.
struct AgedReport {
  std::string target, output;
  image::SuperblockInfo superblock;
  age::Profile profile;
  std::string policy;
  std::uint64_t seed = 0;
  std::array<std::uint64_t, 4> operations = {};  // by Operation::Kind
  std::uint64_t bytes_written = 0;
  double elapsed_s = 0;
  age::AgerTally tally;
  allocator::DecisionTimes times;       // of a kernel's code; empty of a model
  std::uint64_t groups_considered = 0;  // by all searches
  std::uint64_t extents_scanned = 0;
  stats::FileLayoutScore layout;  // but for its median
  std::uint64_t extents = 0;      // of all files
  std::uint64_t most_extents = 0;
  std::uint64_t ever_used = 0;      // blocks
  std::uint64_t ever_used_64k = 0;  // pieces of 64 KiB
  stats::SettledFree before, after;
};

[[nodiscard]] AgedReport start_report(const std::string& target,
                                      const image::SuperblockInfo& superblock,
                                      const state::Source& source);
void finish_report(AgedReport& report, const age::Ager& ager);

[[nodiscard]] std::string aged_text(const AgedReport& report);
// The document of schema e4replay-age/1.
[[nodiscard]] std::string aged_json(const AgedReport& report);

}  // namespace e4r::tools
