// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::test {

// A fresh directory, removed with all it holds at the end of its life: under $TMPDIR if that is
// set, else in memory if there is room for 2 GiB, else under /tmp.
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
