// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/journal.h"

#include "image/image.h"

namespace e4r::lazyinit {
namespace {

constexpr std::uint32_t kJournalInode = 8;

}  // namespace

Result<std::vector<ByteRange>> journal_ranges(const std::string& path) {
  E4R_TRY(const image::Image image, image::Image::open(path, {.load_bitmaps = false}));
  E4R_TRY(const image::InodeInfo inode, image.inode(kJournalInode));
  std::vector<ByteRange> ranges;
  if (inode.links == 0 || inode.size == 0) return ranges;
  E4R_TRY(auto extents, image.file_extents(kJournalInode));
  const std::uint64_t size = image.superblock().block_size();
  for (image::MappedExtent& extent : extents) {
    if (extent.logical == 0) {
      ++extent.block;
      --extent.len;
    }
    if (extent.len != 0) ranges.push_back({extent.block * size, extent.len * size});
  }
  return ranges;
}

}  // namespace e4r::lazyinit
