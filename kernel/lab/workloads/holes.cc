// SPDX-License-Identifier: GPL-2.0-only
// Makes a file system whose free extents have random lengths. Allocates one file of `mib` MiB and
// punches holes into it: a hole of `min` to `max` blocks, then as many blocks that stay.
#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"mib", "1024"}, {"min", "100"}, {"max", "400"}, {"block", "4096"}, {"seed", "1"}});
  const auto block = static_cast<off_t>(options.number("block"));
  const auto end = static_cast<off_t>(options.number("mib") << 20);
  const std::uint64_t min = options.number("min"), max = options.number("max");
  const std::string path = options.directory() + "/holes";
  const int fd = static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_RDWR, 0644), path));
  lab::check(fallocate(fd, 0, 0, end), path);
  lab::Rng rng(options.number("seed"));
  std::uint64_t holes = 0;
  for (off_t at = 0;; ++holes) {
    const auto size = static_cast<off_t>(rng.between(min, max)) * block;
    if (at + size > end) break;
    lab::check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size), path);
    at += size + static_cast<off_t>(rng.between(min, max)) * block;
  }
  lab::check(fsync(fd), path);
  lab::figure("holes", holes);
  return 0;
}
