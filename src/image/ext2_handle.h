// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/image, where only this file includes libext2fs.
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#include <functional>
#include <memory>
#include <string>

#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// On big-endian machines, libext2fs swaps the bytes of data that it reads itself. All other data
// from a disk must go through from_le() and to_le() (util/bytes.h), or image::change_order().

struct Ext2Closer {
  void operator()(ext2_filsys fs) const { ext2fs_free(fs); }  // never flushes
};

// A read-only libext2fs file system. libext2fs does not support concurrent reads of inodes, so
// callers must hold a lock.
using Ext2Handle = std::unique_ptr<struct_ext2_filsys, Ext2Closer>;

// Opens the file system through a duplicate of the file's O_RDONLY descriptor. The superblock must
// have passed check_superblock(), which bounds the memory that libext2fs allocates.
[[nodiscard]] Result<Ext2Handle> open_ext2(const InputFile& file);

// Changes an image in place: opens `path`, calls `change`, and writes what `change` marked dirty.
// The image must be a private copy. Multiple-mount protection is ignored, which avoids the wait in
// libext2fs. Error messages call the image `named`.
[[nodiscard]] Status change_ext2(const std::string& path, const std::string& named,
                                 const std::function<errcode_t(ext2_filsys fs)>& change);

// The message for a libext2fs error code.
[[nodiscard]] std::string ext2_text(errcode_t code);

}  // namespace e4r::image
