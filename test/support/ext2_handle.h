// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace e4r::test {

struct Ext2Closer {
  void operator()(ext2_filsys fs) const { ext2fs_free(fs); }
};
// A file system opened by libext2fs. Closing it writes nothing.
using Ext2Handle = std::unique_ptr<struct_ext2_filsys, Ext2Closer>;

// Throws if a call to libext2fs failed; `what` names the call.
inline void must(errcode_t code, const std::string& what) {
  if (code != 0) throw std::runtime_error(what + ": " + error_message(code));
}

// Opens an image with `flags` (EXT2_FLAG_*) and EXT2_FLAG_64BITS. Throws on failure.
inline Ext2Handle open_ext2(const std::string& path, int flags) {
  initialize_ext2_error_table();
  ext2_filsys fs = nullptr;
  must(ext2fs_open(path.c_str(), flags | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), path);
  return Ext2Handle(fs);
}

}  // namespace e4r::test
