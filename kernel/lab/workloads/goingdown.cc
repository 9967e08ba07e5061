// SPDX-License-Identifier: GPL-2.0-only
// Shuts a file system down as a crash would. Data that is only in memory is lost, and transactions
// that are not yet in the journal on disk are lost, too. Uses the ioctl of ext4 in Linux 6.1
// (fs/ext4/ext4.h). xfs has the same ioctl.
#include <sys/ioctl.h>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(argc, argv, {});
  const int fd = static_cast<int>(
      lab::check(open(options.directory().c_str(), O_RDONLY), options.directory()));
  std::uint32_t without_log = 2;
  lab::check(ioctl(fd, _IOR('X', 125, std::uint32_t), &without_log), "shutdown");
  return 0;
}
