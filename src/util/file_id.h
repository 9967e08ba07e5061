// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace e4r {

// The identity of a file, whatever its name. A device node stands for its device: two nodes of one
// device are equal.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool is_block_device = false;  // then `device` is the node's own device, and `inode` is unused

  friend bool operator==(const FileId&, const FileId&) = default;
};

[[nodiscard]] FileId file_id(const struct stat& st);
// Follows links. Empty if the file does not exist or cannot be reached.
[[nodiscard]] std::optional<FileId> file_id(const std::string& path);

}  // namespace e4r
