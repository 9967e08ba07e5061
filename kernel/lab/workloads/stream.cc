// SPDX-License-Identifier: GPL-2.0-only
// Makes direct writes to one file of `mib` MiB at a steady rate: `rate` writes of `kib` KiB per
// second. Never flushes the file. A late write does not shift the schedule of the later writes.
// Prints how long the writes took. The measured time ends when the last write is due.
#include <algorithm>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"mib", "64"}, {"kib", "64"}, {"rate", "16"}, {"seconds", "60"}, {"prepare", "0"}});
  const std::size_t size = options.number("kib") << 10;
  const std::uint64_t places = (options.number("mib") << 20) / size;
  const std::string path = options.directory() + "/stream";
  const lab::Buffer data(size);
  std::memset(data.data(), 'x', size);

  const int fd =
      static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_WRONLY | O_DIRECT, 0644), path));
  const auto write_at = [&](std::uint64_t i) {
    const auto at = static_cast<off_t>(i % places * size);
    if (lab::check(pwrite(fd, data.data(), size, at), path) != static_cast<long>(size))
      lab::die(path + ": short write");
  };
  // Write the whole file once, so that later writes allocate nothing.
  if (options.number("prepare") != 0) {
    for (std::uint64_t i = 0; i < places; ++i) write_at(i);
    lab::check(fsync(fd), path);
    return 0;
  }

  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t writes = options.number("rate") * options.number("seconds");
  const auto step = std::chrono::nanoseconds(1'000'000'000 / options.number("rate"));
  double total = 0;
  double longest = 0;
  for (std::uint64_t i = 0; i < writes; ++i) {
    std::this_thread::sleep_until(start + step * static_cast<long>(i));
    const lab::Stopwatch clock;
    write_at(i);
    total += clock.seconds();
    longest = std::max(longest, clock.seconds());
  }
  std::this_thread::sleep_until(start + step * static_cast<long>(writes));
  lab::figure("stream_writes", writes);
  lab::figure("stream_mean_ms", 1000 * total / static_cast<double>(writes));
  lab::figure("stream_max_ms", 1000 * longest);
  return 0;
}
