// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace e4r::test {

// Makes a sparse file system image of `bytes` bytes with mke2fs. Replaces an existing file. UUID
// and hash seed are fixed, so equal options give equal images. Throws on failure.
void make_image(const std::string& path, std::uint64_t bytes,
                const std::vector<std::string>& mke2fs_options);

// Alternating free and used runs of clusters over the whole file system. Their lengths are drawn
// uniformly between the bounds. Clusters that mke2fs has used stay in use. If max_free is 0, all
// clusters become used.
struct Fill {
  std::uint64_t seed = 1;
  std::uint32_t min_free = 1;
  std::uint32_t max_free = 0;
  std::uint32_t min_used = 1;
  std::uint32_t max_used = 1;
  std::uint32_t most_free = ~0u;   // the maximum of free clusters in one group
  std::uint32_t skip_percent = 0;  // share of groups that stay as mke2fs made them
};

// Marks clusters as used in the block bitmaps and keeps descriptors, checksums and counts right. No
// inode owns these clusters. e2fsck reports them as wrongly used, but the block allocator does not
// notice. Throws on failure.
void fill_image(const std::string& path, const Fill& fill);

// Returns the block bitmap of each group as libext2fs reads it, in 64-bit words. The bits after the
// group's last cluster are set. Throws if libext2fs refuses the image.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> reference_bitmaps(const std::string& path);

// Passes a group's on-disk descriptor to `change` and writes it back. If `checksum` is set, updates
// the descriptor's checksum. Throws on failure.
struct DescriptorBytes {
  unsigned char* data;
  std::uint32_t size;
};
void edit_descriptor(const std::string& path, std::uint32_t group, bool checksum,
                     void (*change)(DescriptorBytes));

// Returns the byte offset of the group's block bitmap. Throws on failure.
[[nodiscard]] std::uint64_t bitmap_offset(const std::string& path, std::uint32_t group);

}  // namespace e4r::test
