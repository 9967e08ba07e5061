// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/image, where only this file includes libext2fs.
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#include <bit>
#include <functional>
#include <memory>
#include <string>

#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// libext2fs swaps what it reads itself on big-endian machines. This project also reads the disk
// past it: superblocks and inodes with their checksums (image/superblock.cc,
// lazyinit/superblock.cc), group descriptors (lazyinit/descriptors.cc), undo files
// (lazyinit/undo_target.cc) and bitmaps as words (image/bitmap_reader.cc). Those swap nothing.
static_assert(std::endian::native == std::endian::little,
              "superblocks, descriptors and bitmaps are read in little-endian order: "
              "see docs/installing.md");

struct Ext2Closer {
  void operator()(ext2_filsys fs) const { ext2fs_free(fs); }  // never flushes
};

// A read-only libext2fs file system. libext2fs does not support concurrent reads of inodes; take a
// lock.
using Ext2Handle = std::unique_ptr<struct_ext2_filsys, Ext2Closer>;

// Opens through a duplicate of the file's O_RDONLY descriptor. The superblock must have passed
// check_superblock(), which bounds the memory that libext2fs allocates.
[[nodiscard]] Result<Ext2Handle> open_ext2(const InputFile& file);

// Changes an image in place: opens `path`, calls `change`, and writes what `change` marked dirty.
// The image must be a private copy. Multiple-mount protection is ignored, so there is no wait as in
// libext2fs. The Error calls the image `named`.
[[nodiscard]] Status change_ext2(const std::string& path, const std::string& named,
                                 const std::function<errcode_t(ext2_filsys fs)>& change);

// The text of an error code of libext2fs.
[[nodiscard]] std::string ext2_text(errcode_t code);

}  // namespace e4r::image
