// SPDX-License-Identifier: GPL-2.0-only
// Grows `files` files in turn to `mib` MiB, like logs and downloads. Each round appends `kib` KiB
// to every file, in a new order, and flushes it unless `sync` is 0. There is only one thread, so
// the order of the appends alone determines how the files interleave. Prints the time.
#include <algorithm>
#include <numeric>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv, {{"files", "64"}, {"mib", "16"}, {"kib", "512"}, {"sync", "1"}, {"seed", "1"}});
  const std::size_t piece = options.number("kib") << 10;
  const std::uint64_t rounds = (options.number("mib") << 20) / piece;
  const bool flush = options.number("sync") != 0;
  lab::Rng rng(options.number("seed"));
  std::vector<char> data(piece);
  for (char& byte : data) byte = static_cast<char>(rng.next());

  const lab::Stopwatch clock;
  std::vector<int> files(options.number("files"));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string path = options.directory() + "/" + std::to_string(i);
    files[i] = static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_WRONLY, 0644), path));
  }
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const std::size_t i : order) {
      if (lab::check(write(files[i], data.data(), piece), "write") != static_cast<long>(piece))
        lab::die("short write");
      if (flush) lab::check(fdatasync(files[i]), "fdatasync");
    }
  }
  for (const int fd : files) lab::check(close(fd), "close");
  sync();
  lab::figure("elapsed_s", clock.seconds());
  lab::figure("files", files.size());
  return 0;
}
