// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::test {

// Attaches a loop device to a file during the object's lifetime. Needs root; makes a missing device
// node. If attaching is not permitted, path() is empty, and the test reports that it was skipped.
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
