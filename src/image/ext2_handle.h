// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/image: the only include of libext2fs.
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#include <bit>
#include <functional>
#include <memory>
#include <string>

#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// Bitmaps and checksums are used in the byte order that they have on disk.
static_assert(std::endian::native == std::endian::little, "needs a little-endian machine");

struct Ext2Closer {
  void operator()(ext2_filsys fs) const { ext2fs_free(fs); }  // never flushes
};

// A read-only libext2fs file system. libext2fs is not safe for concurrent inode reads: lock.
using Ext2Handle = std::unique_ptr<struct_ext2_filsys, Ext2Closer>;

// Opens through a duplicate of the file's own O_RDONLY descriptor. The superblock must have
// passed check_superblock(), which bounds what libext2fs allocates.
[[nodiscard]] Result<Ext2Handle> open_ext2(const InputFile& file);

// Changes an image in place: opens `path`, calls `change`, and writes what that has marked dirty.
// The image is a copy of our own, whoever has mounted what it is a copy of: nobody is waited for,
// as libext2fs does where there is multiple-mount protection. `named` is the image in the Error.
[[nodiscard]] Status change_ext2(const std::string& path, const std::string& named,
                                 const std::function<errcode_t(ext2_filsys fs)>& change);

// libext2fs's text of an error code.
[[nodiscard]] std::string ext2_text(errcode_t code);

}  // namespace e4r::image
