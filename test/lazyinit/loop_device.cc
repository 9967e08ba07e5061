// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/loop_device.h"

#include <vector>

#include "support/process.h"

namespace e4r::test {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Makes the device node of the next free loop device if /dev lacks it, as in containers. The major
// number of loop devices is 7 (the kernel's Documentation/admin-guide/devices.txt), and the minor
// number is the number of the device.
bool make_node() {
  const Outcome found = run({"losetup", "--find"});
  const std::string path = first_line(found.out);
  const std::string stem = "/dev/loop";
  if (found.status != 0 || !path.starts_with(stem)) return false;
  return run({"mknod", path, "b", "7", path.substr(stem.size())}).status == 0;
}

}  // namespace

LoopDevice::LoopDevice(const std::string& file, Access access) {
  std::vector<std::string> command = {"losetup", "--find", "--show", file};
  if (access == Access::read_only) command.emplace_back("--read-only");
  Outcome attached = run(command);
  if (attached.status != 0 && make_node()) attached = run(command);
  if (attached.status == 0) path_ = first_line(attached.out);
}

LoopDevice::~LoopDevice() {
  if (!path_.empty()) (void)run({"losetup", "--detach", path_});
}

}  // namespace e4r::test
