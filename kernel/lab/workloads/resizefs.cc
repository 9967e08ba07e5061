// SPDX-License-Identifier: GPL-2.0-only
// Grows a mounted ext4 to `blocks` blocks by one ioctl (Linux 7.3 fs/ext4/ext4.h,
// EXT4_IOC_RESIZE_FS), without the reads that resize2fs does first.
#include <sys/ioctl.h>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(argc, argv, {{"blocks", "0"}});
  const int fd = static_cast<int>(
      lab::check(open(options.directory().c_str(), O_RDONLY), options.directory()));
  std::uint64_t blocks = options.number("blocks");
  lab::check(ioctl(fd, _IOW('f', 16, std::uint64_t), &blocks), "resize");
  return 0;
}
