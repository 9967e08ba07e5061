// SPDX-License-Identifier: GPL-2.0-or-later
// Some tests have more points (crash points, configurations) than one run has time for. A run tries
// a fifth of the points, chosen by E4R_SEED, or all of them with E4R_POINTS=all.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace e4r::test {

// Returns E4R_SEED. The same seed repeats a run; another seed varies it.
[[nodiscard]] inline std::uint64_t seed_of_run() {
  const char* text = std::getenv("E4R_SEED");
  return text == nullptr ? 20261121 : std::strtoull(text, nullptr, 10);
}

[[nodiscard]] inline bool all_points_are_tried() {
  const char* text = std::getenv("E4R_POINTS");
  return text != nullptr && std::string_view(text) == "all";
}

// Returns how many of `all` points a run tries.
[[nodiscard]] inline int points_of_run(int all) {
  return all_points_are_tried() ? all : (all + 4) / 5;
}

// Returns whether a run tries the point with this number.
[[nodiscard]] inline bool is_tried(std::uint64_t point) {
  return all_points_are_tried() || (point + seed_of_run()) % 5 == 0;
}

}  // namespace e4r::test
