// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ext4/geometry.h"
#include "image/ext2_handle.h"
#include "image/image.h"
#include "image/input_file.h"
#include "util/fd.h"
#include "util/status.h"

namespace e4r::image {

// Bytes from the start of a device to the end of the primary superblock.
inline constexpr std::uint64_t kHeadBytes = 2048;

// The file or device that holds a file system. Both sizes are in bytes. `allocated` is the number
// of bytes that may be nonzero.
struct Holder {
  std::string path;
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;
};

// Reads the primary superblock. Rejects it unless every count is in range, agrees with the others
// and fits the file. Code that uses these counts, including libext2fs, then neither divides by zero
// nor allocates more memory than the file size justifies.
[[nodiscard]] Status check_superblock(const InputFile& file);
// Checks the superblock in `head`: the first kHeadBytes bytes of the file, or the whole file if it
// is shorter.
[[nodiscard]] Status check_superblock(const Holder& file, std::span<const std::byte> head);

// Converts a superblock from disk byte order to host byte order, or back. libext2fs itself converts
// superblocks that it reads.
inline void change_order([[maybe_unused]] ext2_super_block& superblock) {
  if constexpr (std::endian::native == std::endian::big) ext2fs_swap_super(&superblock);
}

// The geometry in a superblock. Here and in the functions below, the superblock must be in host
// byte order and must have passed check_superblock().
[[nodiscard]] Geometry geometry_of(const ext2_super_block& superblock);

// The UUID as 8-4-4-4-12 lower-case hexadecimal digits.
[[nodiscard]] std::string uuid_text(const ext2_super_block& superblock);

// A string in the superblock. It ends at the first NUL byte or fills the field.
template <class Byte, std::size_t N>
[[nodiscard]] std::string text_of(const Byte (&field)[N]) {
  const auto* text = reinterpret_cast<const char*>(field);
  return {text, ::strnlen(text, N)};
}

[[nodiscard]] SuperblockInfo read_superblock(ext2_filsys fs);

// Returns one entry per group. `fault` is set for faults that the descriptors alone show.
[[nodiscard]] std::vector<GroupInfo> read_groups(ext2_filsys fs, const SuperblockInfo& superblock);

// The disks of a guest kernel, as anonymous files in memory: a file system that is empty but has
// the free space of an image, and its journal.
struct MountableDisks {
  Fd file_system;
  Fd journal;  // not open if the file system has no journal
};

// Copies the blocks that describe an image's free space (Image::bookkeeping) and adds what a kernel
// needs to mount it: an empty root directory and an external journal. `journal_device` is the
// device number of the journal (as in st_rdev, below 2^16: major << 8 | minor). Drops features that
// need other blocks and do not affect allocation: quota, project quota, orphan file, multiple-mount
// protection, casefold, encryption, verity, fast commits. Discards an unreplayed journal and
// recorded errors. Allocations and frees on the result are the same as on the image. The disks take
// as much memory as the bitmaps and the data written to the disks.
[[nodiscard]] Result<MountableDisks> make_mountable(const std::string& image_path,
                                                    const std::string& named,
                                                    std::uint32_t journal_device);

}  // namespace e4r::image
