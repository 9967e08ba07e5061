// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::test {

// A new directory, removed with its contents by the destructor. It is under $TMPDIR if that is set,
// otherwise in /dev/shm if there is room for 2 GiB, otherwise under /tmp.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace e4r::test
