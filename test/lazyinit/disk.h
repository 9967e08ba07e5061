// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "support/points.h"

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

}  // namespace e4r::test
