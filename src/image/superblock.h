// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ext4/geometry.h"
#include "image/ext2_handle.h"
#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// Bytes from the start of a device to the end of the primary superblock.
inline constexpr std::uint64_t kHeadBytes = 2048;

// What a file system lies on: `size` and `allocated` (that can be other than zero) in bytes.
struct Holder {
  std::string path;
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;
};

// Reads the primary superblock and refuses it unless every count is in range, agrees with the
// others and fits the file, so that whoever computes with them (libext2fs included) neither
// divides by zero nor allocates more than the file's own size justifies.
[[nodiscard]] Status check_superblock(const InputFile& file);
// The same, given the first kHeadBytes bytes (fewer when there are no more).
[[nodiscard]] Status check_superblock(const Holder& file, std::span<const std::byte> head);

// What a superblock that was not refused says of the shape of its file system.
[[nodiscard]] Geometry geometry_of(const ext2_super_block& superblock);

}  // namespace e4r::image
