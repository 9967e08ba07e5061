// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace e4r::test {

// The contents of a small image.
using Disk = std::vector<std::byte>;

[[nodiscard]] inline Disk load(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Disk disk(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(disk.data()), static_cast<std::streamsize>(disk.size()));
  return disk;
}

inline void store(const std::string& path, const Disk& disk) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(disk.data()), static_cast<std::streamsize>(disk.size()));
}

// E4R_SEED repeats or varies a run.
[[nodiscard]] inline std::uint64_t seed_of_run() {
  const char* text = std::getenv("E4R_SEED");
  return text == nullptr ? 20261121 : std::strtoull(text, nullptr, 10);
}

// The number of points of `all` that a run tries: a fifth of them, chosen by E4R_SEED, or all with
// E4R_POINTS=all.
[[nodiscard]] inline int points_of_run(int all) {
  const char* text = std::getenv("E4R_POINTS");
  return text != nullptr && std::string_view(text) == "all" ? all : (all + 4) / 5;
}

}  // namespace e4r::test
