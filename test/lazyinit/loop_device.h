// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::test {

// A loop device on a file for as long as the object lives. Needs root; a device node that /dev
// lacks is made. path() is empty where there is no leave to attach one, and the test says that it
// was skipped.
class LoopDevice {
 public:
  enum class Access { read_write, read_only };
  explicit LoopDevice(const std::string& file, Access access = Access::read_write);
  ~LoopDevice();
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace e4r::test
