// SPDX-License-Identifier: GPL-2.0-only
// Several kinds of writers write one file at the same time for `seconds`. Then the program calls
// fsync and close, reads the whole file with O_DIRECT, and compares it with the written data. The
// file has `mib` MiB in two halves:
// - One thread writes the first half from its beginning to its end, over and over, by calls of
//   `kib` KiB, while another thread overwrites pieces of 1 byte to 16 KiB at random places of it.
// - The pages of the second half belong in turn to a thread that stores through a shared mapping
//   and to a thread that writes pieces of them.
// Another thread calls fsync now and then. Prints the number of writes of each kind.
#include <sys/mman.h>

#include <atomic>
#include <mutex>

#include "support.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBlock = 64 << 10;

class File {
 public:
  File(std::string path, std::size_t bytes)
      : path_(std::move(path)), model_(bytes), locks_(bytes / kBlock) {
    fd_ =
        static_cast<int>(lab::check(open(path_.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0644), path_));
    lab::check(ftruncate(fd_, static_cast<off_t>(bytes)), path_);
    map_ = static_cast<char*>(mmap(nullptr, bytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                                   static_cast<off_t>(bytes / 2)));
    if (map_ == MAP_FAILED) lab::die("mmap");
  }
  // Writes within a block. The lock makes the file and the model change in the same order.
  void write(std::size_t at, const char* data, std::size_t size) {
    const std::lock_guard lock(locks_[at / kBlock]);
    lab::check(pwrite(fd_, data, size, static_cast<off_t>(at)) == static_cast<long>(size) ? 0 : -1,
               path_);
    std::memcpy(model_.data() + at, data, size);
  }
  // Stores a byte in the second half, in a page that no other thread writes.
  void store(std::size_t at, char value) {
    map_[at - half()] = value;
    model_[at] = value;
  }
  void sync() { lab::check(fsync(fd_), "fsync"); }
  void finish() {
    lab::check(munmap(map_, half()), "munmap");
    sync();
    lab::check(close(fd_), "close");
  }
  [[nodiscard]] std::size_t size() const { return model_.size(); }
  [[nodiscard]] std::size_t half() const { return model_.size() / 2; }

  void compare() const {
    const lab::Buffer found(kBlock);
    const int fd = static_cast<int>(lab::check(open(path_.c_str(), O_RDONLY | O_DIRECT), path_));
    for (std::size_t at = 0; at < size(); at += kBlock) {
      if (lab::check(pread(fd, found.data(), kBlock, static_cast<off_t>(at)), path_) !=
          static_cast<long>(kBlock))
        lab::die("short read");
      for (std::size_t i = 0; i < kBlock; ++i)
        if (found.data()[i] != model_[at + i]) {
          std::fprintf(stderr, "%s: byte %zu is %d, not %d\n", path_.c_str(), at + i,
                       found.data()[i], model_[at + i]);
          std::_Exit(1);
        }
    }
    close(fd);
  }

 private:
  std::string path_;
  std::vector<char> model_;
  std::vector<std::mutex> locks_;
  char* map_ = nullptr;
  int fd_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"mib", "48"}, {"kib", "64"}, {"seconds", "20"}, {"seed", "1"}});
  File file(options.directory() + "/mixed", options.number("mib") << 20);
  const std::uint64_t seed = options.number("seed");
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> passes = 0;
  std::atomic<std::uint64_t> pieces = 0;
  std::atomic<std::uint64_t> stores = 0;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {  // sequential writes
    const std::size_t size = std::min(options.number("kib") << 10, kBlock);
    std::vector<char> data(size);
    for (; !done; ++passes)
      for (std::size_t at = 0; at < file.half() && !done; at += size) {
        for (std::size_t i = 0; i < size; ++i)
          data[i] = static_cast<char>((at + i) * 31 / 7 + passes * 13 + 1);
        file.write(at, data.data(), size);
      }
  });
  // Random writes to the first half of the file, and to every second page of the second half.
  threads.emplace_back([&] {
    lab::Rng rng(seed);
    std::vector<char> data(16 << 10);
    for (; !done; ++pieces) {
      const bool behind = rng.percent(50);
      const std::size_t most = behind ? kPage : data.size();
      std::size_t at = behind ? file.half() + rng.below(file.half() / kPage / 2) * 2 * kPage
                              : rng.below(file.half());
      const std::size_t room = std::min(most, (at / kBlock + 1) * kBlock - at);
      const std::size_t size = rng.between(1, room);
      if (behind) at += rng.below(kPage - size + 1);
      std::memset(data.data(), static_cast<int>(rng.below(256)), size);
      file.write(at, data.data(), size);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  threads.emplace_back([&] {  // stores to the other pages of the second half
    lab::Rng rng(seed + 1);
    for (; !done; ++stores) {
      const std::size_t page = rng.below(file.half() / kPage / 2) * 2 + 1;
      file.store(file.half() + page * kPage + rng.below(kPage), static_cast<char>(rng.below(256)));
      if (stores % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  threads.emplace_back([&] {
    for (int i = 1; !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (i % 20 == 0) file.sync();
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(options.number("seconds")));
  done = true;
  for (std::thread& thread : threads) thread.join();
  file.finish();
  file.compare();
  lab::figure("passes", passes.load());
  lab::figure("pieces", pieces.load());
  lab::figure("stores", stores.load());
  return 0;
}
