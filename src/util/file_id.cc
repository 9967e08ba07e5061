// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/file_id.h"

namespace e4r {

FileId file_id(const struct stat& st) {
  if (S_ISBLK(st.st_mode)) return {st.st_rdev, 0, true};
  return {st.st_dev, st.st_ino, false};
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return file_id(st);
}

}  // namespace e4r
