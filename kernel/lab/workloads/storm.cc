// SPDX-License-Identifier: GPL-2.0-only
// Makes allocation requests as fast as possible from several processes. Each of `count` operations
// opens one of the process's `files` files and allocates up to 40 blocks of it, which begin within
// the file's first 64 blocks. One operation in three then empties the file, and one in seven
// removes it. A full file system is not an error.
#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv, {{"processes", "2"}, {"count", "10000"}, {"files", "3000"}, {"seed", "1"}});
  constexpr off_t kBlock = 4 << 10;
  const std::uint64_t count = options.number("count"), files = options.number("files");
  lab::in_processes(options.number("processes"), [&](std::uint64_t process) {
    lab::Rng rng(options.number("seed") * 1000 + process);
    const std::string of_process = options.directory() + "/" + std::to_string(process) + ".";
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string path = of_process + std::to_string(rng.below(files));
      const int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0644);
      if (fd < 0 && errno == ENOSPC) continue;
      lab::check(fd, path);
      const auto at = static_cast<off_t>(rng.below(64)) * kBlock;
      const auto len = static_cast<off_t>(rng.between(1, 40)) * kBlock;
      if (fallocate(fd, 0, at, len) != 0 && errno != ENOSPC) lab::die(path);
      if (rng.below(3) == 0) lab::check(ftruncate(fd, 0), path);
      close(fd);
      if (rng.below(7) == 0) lab::check(unlink(path.c_str()), path);
    }
  });
  return 0;
}
