// SPDX-License-Identifier: GPL-2.0-only
// Starts writers inside a kernel with experiments/kernel-writers.patch. Each writer is a kernel
// thread. It makes no system calls, because in a guest a system call costs more than an allocation.
// `--kind files` makes `count` files of 64 KiB. `--kind fallocate` extends a file `count` times by
// 8 KiB, and truncates it each time it has reached 1 MiB.
#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv, {{"kind", "files"}, {"writers", "1"}, {"count", "4000"}, {"seed", "1"}});
  const std::string parameter = "/sys/module/ext4/parameters/writers";
  const std::string order = options.text("kind") + " " + options.text("writers") + " " +
                            options.text("count") + " " + options.directory();
  const int fd = static_cast<int>(lab::check(open(parameter.c_str(), O_WRONLY), parameter));
  const lab::Stopwatch clock;
  lab::check(write(fd, order.data(), order.size()), order);  // returns when all are done
  const double seconds = clock.seconds();
  lab::figure("write_s", seconds);
  lab::figure("per_s", static_cast<double>(options.number("count")) / seconds);
  return 0;
}
