// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "ext4/geometry.h"
#include "image/ext2_handle.h"
#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// Bytes from the start of a device to the end of the primary superblock.
inline constexpr std::uint64_t kHeadBytes = 2048;

// The file or device of a file system. Both sizes are in bytes; `allocated` bytes may be nonzero.
struct Holder {
  std::string path;
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;
};

// Reads the primary superblock. Refuses it unless every count is in range, agrees with the others
// and fits the file. Users of these counts, including libext2fs, then neither divide by zero nor
// allocate more than the size of the file justifies.
[[nodiscard]] Status check_superblock(const InputFile& file);
// The same for the first kHeadBytes bytes, or fewer if there are no more.
[[nodiscard]] Status check_superblock(const Holder& file, std::span<const std::byte> head);

// Turns a superblock from the order of the disk into this machine's, or back. libext2fs does so
// itself with what it reads.
inline void change_order([[maybe_unused]] ext2_super_block& superblock) {
  if constexpr (std::endian::native == std::endian::big) ext2fs_swap_super(&superblock);
}

// The geometry in a superblock, which is in this machine's order here and below,
// and has passed the check.
[[nodiscard]] Geometry geometry_of(const ext2_super_block& superblock);

// The UUID as 8-4-4-4-12 lower-case hexadecimal digits.
[[nodiscard]] std::string uuid_text(const ext2_super_block& superblock);

// A text in the superblock: it ends at its first NUL, or fills the field.
template <class Byte, std::size_t N>
[[nodiscard]] std::string text_of(const Byte (&field)[N]) {
  const auto* text = reinterpret_cast<const char*>(field);
  return {text, ::strnlen(text, N)};
}

}  // namespace e4r::image
