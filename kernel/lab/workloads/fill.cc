// SPDX-License-Identifier: GPL-2.0-only
// Fills the file system until ENOSPC and makes room again, `rounds` times. Fills it with files of
// random sizes, some of them written, some fallocated, some grown in small steps. Makes room by
// removing half of the files.
#include <algorithm>

#include "support.h"

namespace {

class Filler {
 public:
  Filler(const lab::Options& options, std::uint64_t thread)
      : rng_(options.number("seed") * 1000 + thread),
        home_(options.directory() + "/f" + std::to_string(thread)),
        max_(options.number("max-size")),
        sync_percent_(static_cast<unsigned>(options.number("sync-percent"))),
        falloc_percent_(static_cast<unsigned>(options.number("falloc-percent"))),
        buffer_(1 << 20, 'x') {
    lab::check(mkdir(home_.c_str(), 0755), home_);
  }

  // Adds files until the disk is full.
  void fill() {
    while (add_file()) {
    }
    ++full_;
  }

  // Removes `percent` of the files, chosen at random.
  void make_room(unsigned percent) {
    std::vector<std::string> kept;
    for (const std::string& path : files_) {
      if (rng_.percent(percent))
        lab::check(unlink(path.c_str()), path);
      else
        kept.push_back(path);
    }
    files_.swap(kept);
    sync();
  }

  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t full() const { return full_; }
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  // Returns false if there was no space for the whole file.
  bool add_file() {
    const std::string path = home_ + "/" + std::to_string(made_++);
    const int fd = open(path.c_str(), O_CREAT | O_RDWR, 0644);
    if (fd < 0 && errno == ENOSPC) return false;
    lab::check(fd, path);
    files_.push_back(path);
    const std::uint64_t size = rng_.between(1, std::max<std::uint64_t>(max_ >> rng_.below(8), 1));
    bool room = true;
    if (rng_.percent(falloc_percent_)) {
      room = posix_room(fallocate(fd, 0, 0, static_cast<off_t>(size)), path);
    } else {
      const std::uint64_t step = rng_.percent(50) ? buffer_.size() : rng_.between(1, 32 << 10);
      for (std::uint64_t at = 0; room && at < size; at += step) {
        const std::uint64_t len = std::min(step, size - at);
        const long n = pwrite(fd, buffer_.data(), len, static_cast<off_t>(at));
        room = posix_room(n, path) && n == static_cast<long>(len);
        if (n > 0) written_ += static_cast<std::uint64_t>(n);
      }
    }
    if (rng_.percent(sync_percent_)) room = posix_room(fsync(fd), path) && room;
    lab::check(close(fd), path);
    return room;
  }

  static bool posix_room(long result, const std::string& path) {
    if (result >= 0) return true;
    if (errno != ENOSPC) lab::die(path);
    return false;
  }

  lab::Rng rng_;
  std::string home_;
  std::uint64_t max_;
  unsigned sync_percent_, falloc_percent_;
  std::string buffer_;
  std::vector<std::string> files_;
  std::uint64_t made_ = 0, written_ = 0, full_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"threads", "1"},
                              {"seed", "1"},
                              {"rounds", "3"},
                              {"max-size", "4M"},
                              {"sync-percent", "10"},
                              {"falloc-percent", "10"},
                              {"free-percent", "50"}});
  const lab::Stopwatch clock;
  lab::in_threads(options.number("threads"), [&](std::uint64_t thread) {
    Filler filler(options, thread);
    for (std::uint64_t round = 0; round < options.number("rounds"); ++round) {
      filler.fill();
      filler.make_room(static_cast<unsigned>(options.number("free-percent")));
    }
    std::printf("files %llu\nbytes_written %llu\ntimes_full %llu\n",
                static_cast<unsigned long long>(filler.made()),
                static_cast<unsigned long long>(filler.written()),
                static_cast<unsigned long long>(filler.full()));
  });
  lab::figure("elapsed_s", clock.seconds());
  return 0;
}
