// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Code shared by the workload programs: options, random numbers, system calls that must succeed. A
// program prints its figures as "name value" lines, and exits with 0 only if everything succeeded.
namespace lab {

[[noreturn]] inline void die(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
  std::_Exit(1);
}

inline long check(long result, const std::string& what) {
  if (result < 0) die(what);
  return result;
}

// xorshift64*, seeded through splitmix64: small seeds give unrelated streams.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed + 0x9e3779b97f4a7c15ull) {
    state_ = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9ull;
    state_ = (state_ ^ state_ >> 27) * 0x94d049bb133111ebull;
    state_ ^= state_ >> 31;
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : (next() >> 11) % n; }
  std::uint64_t between(std::uint64_t a, std::uint64_t b) { return a + below(b - a + 1); }
  bool percent(unsigned p) { return below(100) < p; }

 private:
  std::uint64_t state_;
};

// Parses a size like 64K, 4M or 1G, whose units are powers of two.
inline std::uint64_t size(const std::string& text) {
  char* end = nullptr;
  std::uint64_t n = std::strtoull(text.c_str(), &end, 0);
  for (const char* unit = "KMG"; *unit != 0; ++unit) {
    n <<= 10;
    if (*end == *unit) return n;
  }
  return n >> 30;
}

// The command line: pairs "--name value", then one directory. Every name must be among the
// defaults.
class Options {
 public:
  Options(int argc, char** argv, std::map<std::string, std::string> defaults)
      : values_(std::move(defaults)) {
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word.rfind("--", 0) != 0) {
        directory_ = word;
        continue;
      }
      word.erase(0, 2);
      if (values_.count(word) == 0 || i + 1 >= argc) usage(argv[0]);
      values_[word] = argv[++i];
    }
    if (directory_.empty()) usage(argv[0]);
  }
  [[nodiscard]] const std::string& text(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    return size(values_.at(name));
  }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  [[noreturn]] void usage(const char* program) const {
    std::fprintf(stderr, "usage: %s", program);
    for (const auto& [name, value] : values_)
      std::fprintf(stderr, " [--%s %s]", name.c_str(), value.c_str());
    std::fprintf(stderr, " DIRECTORY\n");
    std::exit(2);
  }
  std::map<std::string, std::string> values_;
  std::string directory_;
};

// Runs body(thread) in `threads` threads, or in the calling thread if `threads` is 1.
template <class Body>
void in_threads(std::uint64_t threads, const Body& body) {
  if (threads <= 1) return body(0);
  std::vector<std::thread> all;
  for (std::uint64_t i = 0; i < threads; ++i) all.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : all) thread.join();
}

// Runs body(process) in `processes` processes. Unlike threads, processes run in parallel on the
// CPUs of User Mode Linux. Fails if one of the processes fails.
template <class Body>
void in_processes(std::uint64_t processes, const Body& body) {
  if (processes <= 1) return body(0);
  std::vector<pid_t> all;
  for (std::uint64_t i = 0; i < processes; ++i) {
    all.push_back(static_cast<pid_t>(check(fork(), "fork")));
    if (all.back() != 0) continue;
    body(i);
    _exit(0);
  }
  for (const pid_t pid : all) {
    int status = 0;
    check(waitpid(pid, &status, 0), "waitpid");
    if (status != 0) die("a writer has failed");
  }
}

// `bytes` bytes of memory for direct I/O, freed with the object.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) {
    if ((errno = posix_memalign(&data_, 4096, bytes)) != 0) die("memory");
  }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Drops all reclaimable slab objects once, in another process. Unlike a thread, this process runs
// in parallel with its parent on the CPUs of User Mode Linux.
class SlabDrop {
 public:
  SlabDrop() : pid_(static_cast<pid_t>(check(fork(), "fork"))) {
    if (pid_ != 0) return;
    const long fd = check(open("/proc/sys/vm/drop_caches", O_WRONLY), "drop_caches");
    check(write(static_cast<int>(fd), "2", 1), "drop_caches");
    _exit(0);
  }
  SlabDrop(const SlabDrop&) = delete;
  SlabDrop& operator=(const SlabDrop&) = delete;
  // Whether the process is still at work. Fails if the process has failed. After it has returned
  // false, the program must not call it again.
  [[nodiscard]] bool running() const {
    int status = 0;
    if (check(waitpid(pid_, &status, WNOHANG), "waitpid") == 0) return true;
    if (status != 0) die("drop_caches has failed");
    return false;
  }
  [[nodiscard]] double seconds() const { return clock_.seconds(); }

 private:
  Stopwatch clock_;
  pid_t pid_;
};

// Asks for the extents of a file in the `length` bytes from `start` on. Without `first`, returns
// how many there are. With `first`, stores the first extent there and returns 1, or returns 0 if
// the range has no extent.
inline std::uint32_t extents(int fd, std::uint64_t start, std::uint64_t length,
                             fiemap_extent* first = nullptr) {
  alignas(fiemap) char memory[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* ask = reinterpret_cast<fiemap*>(memory);
  ask->fm_start = start;
  ask->fm_length = length;
  ask->fm_extent_count = first == nullptr ? 0 : 1;
  check(ioctl(fd, FS_IOC_FIEMAP, ask), "FIEMAP");
  if (first != nullptr && ask->fm_mapped_extents > 0) *first = ask->fm_extents[0];
  return ask->fm_mapped_extents;
}

// Returns the value that is at the fraction `share` of the way through `sorted`: 0 gives the
// smallest value, 0.5 the median, 1 the largest. `sorted` is in ascending order and not empty.
inline double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

inline void figure(const char* name, double value) {
  std::printf("%s %.4f\n", name, value);
}
inline void figure(const char* name, std::uint64_t value) {
  std::printf("%s %llu\n", name, static_cast<unsigned long long>(value));
}

}  // namespace lab
