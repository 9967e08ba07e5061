// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "image/image.h"
#include "stats/free_extents.h"
#include "util/status.h"

namespace e4r::report {

// What `e4replay map` tells about an image: where its free space lies.
struct SpacePicture {
  std::string path;
  image::SuperblockInfo superblock;
  std::uint64_t bad_groups = 0;  // all of such a group counts as in use
  std::vector<stats::SpaceCell> cells;
  // Of all cells together.
  std::uint64_t free_blocks = 0;
  std::uint64_t free_extents = 0;
  std::uint64_t longest = 0;  // blocks
};

// Scans the bitmaps of an image that was opened without them, or with.
[[nodiscard]] Result<SpacePicture> measure_space(image::Image& image, std::uint64_t cells);

// What a sign of the text stands for. free: which part of its blocks is free, as a shade: the
// darker, the fuller. order: the order of the largest chunk that a free extent there has room for,
// in clusters: 0 to 9, then a for 10; "." when nothing is free.
enum class Shown : std::uint8_t { free, order };

// The picture, line by line: each line has the place of its first sign, then `columns` signs; the
// last line may be shorter. `ascii`: it has only ASCII characters.
struct TextForm {
  std::uint32_t columns = 64;
  Shown shown = Shown::free;
  bool ascii = false;
};
[[nodiscard]] std::string space_text(const SpacePicture& picture, const TextForm& form);
// The sign of one cell there.
[[nodiscard]] std::string space_sign(const stats::SpaceCell& cell, std::uint32_t cluster_bits,
                                     const TextForm& form);

// How full and how fragmented each cell is, one above the other, as a document of SVG. Each cell
// says its figures when a browser's pointer rests on it.
[[nodiscard]] std::string space_svg(const SpacePicture& picture, std::uint32_t columns);

// The same as a page, which has the figures in words.
[[nodiscard]] std::string space_html(const SpacePicture& picture, std::uint32_t columns);

// {"schema": "e4replay-map/1", "image": ..., "free": ..., "cells": [...]}, indented, with a newline
// at the end.
[[nodiscard]] std::string space_json(const SpacePicture& picture);

}  // namespace e4r::report
