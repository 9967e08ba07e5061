// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace e4r::test {

// Makes a sparse file system image of `bytes` bytes with mke2fs, replacing what is at `path`.
// UUID and hash seed are fixed, so the same options give the same image. Throws on failure.
void make_image(const std::string& path, std::uint64_t bytes,
                const std::vector<std::string>& mke2fs_options);

// Alternating runs of clusters, lengths drawn uniformly from the bounds, laid over the whole
// file system; what was in use stays so. max_free == 0: all becomes used.
struct Fill {
  std::uint64_t seed = 1;
  std::uint32_t min_free = 1;
  std::uint32_t max_free = 0;
  std::uint32_t min_used = 1;
  std::uint32_t max_used = 1;
  std::uint32_t most_free = ~0u;   // clusters in one group
  std::uint32_t skip_percent = 0;  // groups left alone, as mke2fs made them
};

// Marks clusters used in the block bitmaps, keeping descriptors, checksums and counts right. No
// inode owns them: e2fsck would object, the block allocator does not. Throws on failure.
void fill_image(const std::string& path, const Fill& fill);

// The block bitmap as libext2fs sees it, per group in 64-bit words with the bits past the end of
// the group set. Throws when libext2fs refuses the image.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> reference_bitmaps(const std::string& path);

// Hands a group's descriptor to `change` in its on-disk form and writes it back, with a new
// checksum of the descriptor when `checksum` says so. Throws on failure.
struct DescriptorBytes {
  unsigned char* data;
  std::uint32_t size;
};
void edit_descriptor(const std::string& path, std::uint32_t group, bool checksum,
                     void (*change)(DescriptorBytes));

// Byte offset of the group's block bitmap. Throws on failure.
[[nodiscard]] std::uint64_t bitmap_offset(const std::string& path, std::uint32_t group);

}  // namespace e4r::test
