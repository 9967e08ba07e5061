// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/ext2_handle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace e4r::image {
namespace {

constexpr int kFlags = EXT2_FLAG_64BITS | EXT2_FLAG_SOFTSUPP_FEATURES | EXT2_FLAG_SKIP_MMP;

Error open_error(const InputFile& file, errcode_t code) {
  switch (code) {
    case EXT2_ET_UNSUPP_FEATURE:
    case EXT2_ET_REV_TOO_HIGH:
      return error("{}: uses features that this libext2fs does not know (dumpe2fs -h names them)",
                   file.path());
    case EXT2_ET_SHORT_READ:
      return error(
          "{}: the group descriptors lie outside the file: damaged or truncated; copy it whole, or "
          "try e2fsck -fn",
          file.path());
    default:
      return error("{}: {}; e2fsck -fn on a copy says more", file.path(), ext2_text(code));
  }
}

}  // namespace

std::string ext2_text(errcode_t code) {
  static std::once_flag once;
  std::call_once(once, initialize_ext2_error_table);
  return error_message(code);
}

Result<Ext2Handle> open_ext2(const InputFile& file) {
  const int fd = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return error("{}: {}", file.path(), errno_text(errno));
  ext2_filsys fs = nullptr;
  const errcode_t code =
      ext2fs_open2(std::to_string(fd).c_str(), nullptr, kFlags, 0, 0, unixfd_io_manager, &fs);
  if (code != 0) return open_error(file, code);
  return Ext2Handle(fs);
}

Status change_ext2(const std::string& path, const std::string& named,
                   const std::function<errcode_t(ext2_filsys fs)>& change) {
  ext2_filsys raw = nullptr;
  errcode_t code =
      ext2fs_open2(path.c_str(), nullptr, kFlags | EXT2_FLAG_RW, 0, 0, unix_io_manager, &raw);
  Ext2Handle fs(raw);
  if (code == 0) code = change(fs.get());
  if (code == 0) {
    raw = fs.release();
    code = ext2fs_close_free(&raw);
  }
  if (code != 0) return error("cannot change {}: {}", named, ext2_text(code));
  return {};
}

}  // namespace e4r::image
