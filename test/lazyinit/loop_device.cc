// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/loop_device.h"

#include "support/process.h"

namespace e4r::test {

LoopDevice::LoopDevice(const std::string& file) {
  const Outcome attached = run({"losetup", "--find", "--show", file});
  if (attached.status == 0) path_ = attached.out.substr(0, attached.out.find('\n'));
}

LoopDevice::~LoopDevice() {
  if (!path_.empty()) (void)run({"losetup", "--detach", path_});
}

}  // namespace e4r::test
