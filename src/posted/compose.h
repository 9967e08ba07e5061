// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image/image.h"
#include "posted/texts.h"
#include "util/status.h"

// Makes free space that has what posted texts say.
namespace e4r::posted {

// The file system that mke2fs is to make, as far as texts and options determine it.
struct Wanted {
  std::uint32_t block_size = 0;  // 0: mke2fs chooses
  std::uint64_t bytes = 0;
  std::vector<std::string> arguments;  // of mke2fs
  std::string extended;                // to be added to mke2fs's -E
  std::vector<std::string> chosen;     // what no text says
};
struct StartOptions {
  std::uint64_t bytes = 0;       // 0: as the texts say
  std::uint32_t block_size = 0;  // 0: as the texts say
  std::uint64_t inodes = 0;      // 0: as the texts say
};
// Errors: texts or options that contradict each other; no text says the size.
[[nodiscard]] Result<Wanted> wanted_start(const Texts& texts, const StartOptions& options);

struct Composed {
  std::vector<std::vector<std::uint64_t>> bitmaps;  // by group, in the form of Image::bitmap()
  std::vector<std::string> exact;                   // what is as the texts say
  std::vector<std::string> inexact;                 // what is not, and how far off it is
  std::vector<std::string> chosen;                  // what no text says
  std::uint64_t free = 0;                           // clusters
};

// `start` is the new file system. Errors: texts that contradict each other, or that no file system
// like `start` can have.
[[nodiscard]] Result<Composed> compose(const Texts& texts, const image::Image& start,
                                       std::uint64_t seed);

}  // namespace e4r::posted
