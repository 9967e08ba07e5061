// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace e4r::test {

// A kind of file system that mke2fs can make.
struct Shape {
  const char* name;
  std::uint64_t bytes;
  std::vector<std::string> options;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

// Returns shapes with block sizes from 1K to 64K, with and without bigalloc, and with every feature
// that moves or checksums metadata. Most have a short last group.
[[nodiscard]] const std::vector<Shape>& shapes();

}  // namespace e4r::test
