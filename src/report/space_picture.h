// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "image/image.h"
#include "stats/free_extents.h"
#include "util/status.h"

namespace e4r::report {

// The figures that `e4replay map` reports about an image: where its free space lies.
struct SpacePicture {
  std::string path;
  image::SuperblockInfo superblock;
  std::uint64_t bad_groups = 0;  // groups with bad bitmaps, which count as fully in use
  std::vector<stats::SpaceCell> cells;
  // Over all cells.
  std::uint64_t free_blocks = 0;
  std::uint64_t free_extents = 0;
  std::uint64_t longest = 0;  // blocks
};

// Scans the bitmaps of an image that was opened with or without them.
[[nodiscard]] Result<SpacePicture> measure_space(image::Image& image, std::uint64_t cells);

// The property of a cell that its character shows. free: how much of the cell is in use, as a
// shade; a darker cell is fuller. order: the order, in clusters, of the largest chunk that fits in
// the cell's longest free extent: 0 to 9, then a for 10; "." if nothing is free.
enum class Shown : std::uint8_t { free, order };

// The picture as text: each line has the position of its first character, then `columns`
// characters; the last line may be shorter. With `ascii`, it has only ASCII characters.
struct TextForm {
  std::uint32_t columns = 64;
  Shown shown = Shown::free;
  bool ascii = false;
};
[[nodiscard]] std::string space_text(const SpacePicture& picture, const TextForm& form);
// The character for one cell.
[[nodiscard]] std::string space_sign(const stats::SpaceCell& cell, std::uint32_t cluster_bits,
                                     const TextForm& form);

// An SVG document with two panels, one above the other: how full and how fragmented each cell is. A
// browser shows a cell's figures when the pointer rests on it.
[[nodiscard]] std::string space_svg(const SpacePicture& picture, std::uint32_t columns);

// The same picture as an HTML page, with the figures in words.
[[nodiscard]] std::string space_html(const SpacePicture& picture, std::uint32_t columns);

// {"schema": "e4replay-map/1", "image": ..., "free": ..., "cells": [...]}, indented, with a final
// newline.
[[nodiscard]] std::string space_json(const SpacePicture& picture);

}  // namespace e4r::report
