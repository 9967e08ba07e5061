// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <utility>

#include "util/status.h"

namespace e4r::record {

// A copy of a loop device's file that shares its blocks (FICLONE), without a name; it goes with the
// object.
class LoopCopy {
 public:
  // `device_name`: as the kernel has it, "loop0". The Error: no loop device, a part of a file only,
  // or a file system that cannot share blocks.
  [[nodiscard]] static Result<LoopCopy> make(const std::string& device_name);
  LoopCopy(LoopCopy&& other) noexcept { std::swap(fd_, other.fd_); }
  LoopCopy& operator=(LoopCopy&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~LoopCopy();
  // Can be opened as long as this object lives.
  [[nodiscard]] std::string path() const;

 private:
  LoopCopy() = default;
  int fd_ = -1;
};

}  // namespace e4r::record
