// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <utility>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// A copy of a loop device's file that shares its blocks (FICLONE), without a name; it goes with the
// object.
class LoopCopy {
 public:
  // `device_name`: as the kernel has it, "loop0". The Error: no loop device, a part of a file only,
  // or a file system that cannot share blocks.
  [[nodiscard]] static Result<LoopCopy> make(const std::string& device_name);
  // Can be opened as long as this object lives.
  [[nodiscard]] std::string path() const { return fd_.path(); }

 private:
  explicit LoopCopy(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace e4r::record
