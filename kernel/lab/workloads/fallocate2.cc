// SPDX-License-Identifier: GPL-2.0-only
// A variant of will-it-scale's fallocate2 with several files. Each of `processes` processes extends
// one of its own files by 8 KiB at a time up to 1 MiB, truncates it to nothing, and continues with
// the next of its `files` files. Because of the separate files, a recording of one process can be
// distributed over `files` writers. With `rate`, a process makes at most `rate` operations per
// second. Prints the operations per second of each process.
#include <chrono>
#include <thread>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"processes", "1"}, {"files", "1"}, {"rounds", "1000"}, {"seed", "1"}, {"rate", "0"}});
  constexpr off_t kStep = 8 << 10, kMost = 1 << 20;
  const std::uint64_t files = options.number("files"), rounds = options.number("rounds");
  const auto rate = static_cast<double>(options.number("rate"));
  const lab::Stopwatch clock;
  lab::in_processes(options.number("processes"), [&](std::uint64_t process) {
    std::vector<int> fds;
    const std::string of_process = options.directory() + "/" + std::to_string(process) + ".";
    for (std::uint64_t i = 0; i < files; ++i) {
      const std::string path = of_process + std::to_string(i);
      fds.push_back(
          static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_WRONLY, 0644), path)));
    }
    double done = 0;
    for (std::uint64_t round = 0; round < rounds; ++round)
      for (const int fd : fds) {
        for (off_t at = 0; at < kMost; at += kStep)
          lab::check(fallocate(fd, 0, at, kStep), "fallocate");
        lab::check(ftruncate(fd, 0), "ftruncate");
        done += kMost / kStep;
        if (rate > 0 && done / rate > clock.seconds())
          std::this_thread::sleep_for(std::chrono::duration<double>(done / rate - clock.seconds()));
      }
  });
  const auto each = static_cast<double>(files * rounds * (kMost / kStep));
  lab::figure("fallocate_per_s", each / clock.seconds());
  return 0;
}
