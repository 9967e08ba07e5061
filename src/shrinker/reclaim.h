// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shrinker/status_cache.h"

namespace e4r::shrinker {

// The result of one call of the shrinker.
struct ShrinkCall {
  std::uint64_t visited = 0;    // entries visited
  std::uint64_t reclaimed = 0;  // entries reclaimed
  std::uint64_t inodes = 0;     // inodes whose trees were walked
};

// A way to choose the entries to reclaim.
struct ReclaimModel {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // kernel version and function, or posting
  bool by_use;              // needs StatusCache::order_by_use()
  // Removes entries from the cache. `budget` is the shrinker's nr_to_scan.
  ShrinkCall (*scan)(StatusCache& cache, std::uint64_t budget);
};

// All models. The first one models Linux 6.1.
[[nodiscard]] std::span<const ReclaimModel> models();
// Returns nullptr if no model has that name.
[[nodiscard]] const ReclaimModel* find_model(std::string_view name);

}  // namespace e4r::shrinker
