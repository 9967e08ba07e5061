// SPDX-License-Identifier: GPL-2.0-only
// Many small files: N threads write their share of `files` files of `kib` KiB each, thread T into
// DIRECTORY/tT. Prints how long that took, without and with the sync at the end, and the
// rate without.
#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"threads", "1"}, {"files", "1000"}, {"kib", "64"}, {"seed", "1"}, {"fsync", "0"}});
  const std::uint64_t threads = std::max<std::uint64_t>(options.number("threads"), 1);
  const std::uint64_t files = options.number("files");
  const bool sync_each = options.number("fsync") != 0;
  std::vector<char> data(options.number("kib") << 10);
  lab::Rng rng(options.number("seed"));
  for (char& byte : data) byte = static_cast<char>(rng.next());

  const lab::Stopwatch clock;
  lab::in_threads(threads, [&](std::uint64_t thread) {
    const std::string home = options.directory() + "/t" + std::to_string(thread);
    lab::check(mkdir(home.c_str(), 0755), home);
    for (std::uint64_t i = thread; i < files; i += threads) {
      const std::string path = home + "/" + std::to_string(i);
      const int fd =
          static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_WRONLY, 0644), path));
      const long written = lab::check(write(fd, data.data(), data.size()), path);
      if (written != static_cast<long>(data.size())) lab::die(path + ": short write");
      if (sync_each) lab::check(fsync(fd), path);
      lab::check(close(fd), path);
    }
  });
  const double write_s = clock.seconds();
  lab::figure("write_s", write_s);
  lab::figure("files_per_s", static_cast<double>(files) / write_s);
  sync();
  lab::figure("elapsed_s", clock.seconds());
  lab::figure("files", files);
  return 0;
}
