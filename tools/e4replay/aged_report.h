// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "app/ageing.h"
#include "image/fs_info.h"

namespace e4r::tools {

// What `e4replay age` tells.
struct AgedReport {
  std::string output;
  image::SuperblockInfo superblock;
  std::string profile, profile_source;
  std::string policy;
  std::uint64_t seed = 0;
  app::AgedFigures figures;
};

[[nodiscard]] std::string aged_text(const AgedReport& report);
// The document of schema e4replay-age/1.
[[nodiscard]] std::string aged_json(const AgedReport& report);

}  // namespace e4r::tools
