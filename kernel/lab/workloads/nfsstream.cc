// SPDX-License-Identifier: GPL-2.0-only
// Writes one file of `mib` MiB sequentially, by write() calls of `kib` KiB, then calls fsync and
// close. Prints the speed, the longest call, the number of calls over 100 ms, the time of fsync,
// and the largest amount of memory that was dirty or under writeback, sampled every 10 ms. With
// `check` 1, the program then reads the file with O_DIRECT and checks its contents. With
// `only-check` 1, it only checks an existing file. With `launder` N, it drops clean pages that are
// more than N MiB behind the writer, after every MiB.
#include <algorithm>
#include <atomic>

#include "support.h"

namespace {

// Returns the sum of Dirty and Writeback in /proc/meminfo, in KiB.
std::uint64_t dirty_kib(int meminfo) {
  char text[4096];
  const long n = lab::check(pread(meminfo, text, sizeof text - 1, 0), "/proc/meminfo");
  text[n] = 0;
  std::uint64_t sum = 0;
  for (const char* name : {"\nDirty:", "\nWriteback:"}) {
    const char* at = std::strstr(text, name);
    if (at == nullptr) lab::die("/proc/meminfo");
    sum += std::strtoull(at + std::strlen(name), nullptr, 10);
  }
  return sum;
}

// Each word of the file encodes its own position.
void fill(char* data, std::size_t size, std::uint64_t at) {
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = (at + i) * 0x9e3779b97f4a7c15ull + 1;
    std::memcpy(data + i, &word, 8);
  }
}

void check_file(const std::string& path, std::uint64_t bytes) {
  constexpr std::size_t kSize = 1 << 20;
  const lab::Buffer found(kSize);
  const lab::Buffer wanted(kSize);
  const int fd = static_cast<int>(lab::check(open(path.c_str(), O_RDONLY | O_DIRECT), path));
  for (std::uint64_t at = 0; at < bytes; at += kSize) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kSize, bytes - at));
    if (lab::check(pread(fd, found.data(), kSize, static_cast<off_t>(at)), path) !=
        static_cast<long>(size))
      lab::die(path + ": short read");
    fill(wanted.data(), size, at);
    if (std::memcmp(found.data(), wanted.data(), size) != 0) {
      std::fprintf(stderr, "%s: differs in the MiB at %llu\n", path.c_str(),
                   static_cast<unsigned long long>(at));
      std::_Exit(1);
    }
  }
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"mib", "512"},
                              {"kib", "64"},
                              {"check", "0"},
                              {"only-check", "0"},
                              {"launder", "0"},
                              {"name", "stream"}});
  const std::size_t size = options.number("kib") << 10;
  const std::uint64_t bytes = options.number("mib") << 20;
  const std::string path = options.directory() + "/" + options.text("name");
  const lab::Buffer data(size);
  if (options.number("only-check") != 0) {
    check_file(path, bytes);
    return 0;
  }

  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> peak = 0;
  const int meminfo =
      static_cast<int>(lab::check(open("/proc/meminfo", O_RDONLY), "/proc/meminfo"));
  std::thread watch([&] {
    while (!done) {
      peak = std::max(peak.load(), dirty_kib(meminfo));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });

  const int fd =
      static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644), path));
  const std::uint64_t kept = options.number("launder") << 20;
  double longest = 0;
  std::uint64_t stalls = 0;
  double stalled = 0;
  const lab::Stopwatch whole;
  for (std::uint64_t at = 0; at < bytes; at += size) {
    fill(data.data(), size, at);
    const lab::Stopwatch clock;
    if (lab::check(write(fd, data.data(), size), "write") != static_cast<long>(size))
      lab::die(path + ": short write");
    if (kept != 0 && at > kept && at % (1 << 20) == 0)
      posix_fadvise(fd, 0, static_cast<off_t>(at - kept), POSIX_FADV_DONTNEED);
    const double took = clock.seconds();
    longest = std::max(longest, took);
    if (took > 0.1) {
      ++stalls;
      stalled += took;
    }
  }
  const double written = whole.seconds();
  lab::check(fsync(fd), "fsync");
  const double synced = whole.seconds();
  lab::check(close(fd), "close");
  done = true;
  watch.join();
  lab::figure("seconds", synced);
  lab::figure("mib_per_s", static_cast<double>(bytes >> 20) / synced);
  lab::figure("write_max_ms", 1000 * longest);
  lab::figure("stalls_100ms", stalls);
  lab::figure("stalled_ms", 1000 * stalled);
  lab::figure("fsync_ms", 1000 * (synced - written));
  lab::figure("peak_dirty_mib", static_cast<double>(peak.load()) / 1024);
  if (options.number("check") != 0) check_file(path, bytes);
  return 0;
}
