// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <utility>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::record {

// An unnamed copy of a loop device's file that shares its blocks (FICLONE). It is deleted with the
// object.
class LoopCopy {
 public:
  // `device_name` is the kernel's name, such as "loop0". Fails if it is not a loop device, shows
  // only a part of its file, or lies on a file system that cannot share blocks.
  [[nodiscard]] static Result<LoopCopy> make(const std::string& device_name);
  // A path to open the copy, valid while this object lives.
  [[nodiscard]] std::string path() const { return fd_.path(); }

 private:
  explicit LoopCopy(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace e4r::record
