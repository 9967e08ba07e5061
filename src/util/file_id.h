// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace e4r {

// Which file it is, whatever name leads to it. A device node is its device: two nodes of one device
// are the same.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool is_block_device = false;  // `device` is the node's own then, and there is no inode

  friend bool operator==(const FileId&, const FileId&) = default;
};

[[nodiscard]] FileId file_id(const struct stat& st);
// Behind links. Nothing: there is no such file, or it cannot be reached.
[[nodiscard]] std::optional<FileId> file_id(const std::string& path);

}  // namespace e4r
