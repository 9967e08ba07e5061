// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image/image.h"
#include "posted/texts.h"
#include "util/status.h"

// Makes free space that agrees with posted texts.
namespace e4r::posted {

// The file system that mke2fs must make, as far as texts and options determine it.
struct Wanted {
  std::uint32_t block_size = 0;  // 0 if mke2fs chooses it
  std::uint64_t bytes = 0;
  std::vector<std::string> arguments;  // arguments for mke2fs
  std::string extended;                // to be added to the value of mke2fs's -E
  std::vector<std::string> chosen;     // properties that no text determines
};
struct StartOptions {
  std::uint64_t bytes = 0;       // 0: as in the texts
  std::uint32_t block_size = 0;  // 0: as in the texts
  std::uint64_t inodes = 0;      // 0: as in the texts
};
// Determines the file system that mke2fs must make. Errors: texts or options contradict each other;
// no text gives the size.
[[nodiscard]] Result<Wanted> wanted_start(const Texts& texts, const StartOptions& options);

struct Composed {
  std::vector<std::vector<std::uint64_t>> bitmaps;  // by group, in the form of Image::bitmap()
  std::vector<std::string> exact;                   // properties that agree with the texts
  std::vector<std::string> inexact;  // properties that do not agree, and by how much they differ
  std::vector<std::string> chosen;   // properties that no text determines
  std::uint64_t free = 0;            // clusters
};

// Makes the bitmaps of the new file system `start`. Errors: texts that contradict each other, or
// that cannot describe a file system like `start`.
[[nodiscard]] Result<Composed> compose(const Texts& texts, const image::Image& start,
                                       std::uint64_t seed);

}  // namespace e4r::posted
