// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "image/image.h"
#include "results/outcome.h"

namespace e4r::report {

// The figures that `e4replay age` reports.
struct AgedReport {
  std::string output;
  image::SuperblockInfo superblock;
  std::string operations_from;  // the file of the operations; empty if they were drawn at random
  std::string profile, profile_source;
  std::uint64_t seed = 0;
  results::Outcome start, end;
};

[[nodiscard]] std::string aged_text(const AgedReport& report);
// The JSON document (schema e4replay-age/1).
[[nodiscard]] std::string aged_json(const AgedReport& report);

}  // namespace e4r::report
