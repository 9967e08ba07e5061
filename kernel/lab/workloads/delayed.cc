// SPDX-License-Identifier: GPL-2.0-only
// Fills extent status trees. `--step write` writes every second block of each file and does not
// cause writeback, so each written block is a separate delayed entry. `--step read` reads `holes`
// of the unwritten blocks of each file, evenly spaced; each becomes an entry for a hole. `--step
// seek` checks that SEEK_DATA and SEEK_HOLE find every written and every unwritten block. Until
// writeback, the kernel knows the written blocks only from the delayed entries.
#include "support.h"

namespace {

constexpr std::uint64_t kBlock = 4096;

class File {
 public:
  File(const lab::Options& options, std::uint64_t number)
      : path_(options.directory() + "/delayed" + std::to_string(number)),
        fd_(open(path_.c_str(), O_CREAT | O_RDWR, 0644)),
        blocks_(options.number("blocks")),
        buffer_(kBlock, 'x') {
    lab::check(fd_, path_);
    // Turn read-ahead off, so that the kernel reads only the requested blocks.
    if ((errno = posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM)) != 0) lab::die(path_);
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write_every_second() {
    for (std::uint64_t i = 0; i < blocks_; ++i)
      whole(pwrite(fd_, buffer_.data(), kBlock, static_cast<off_t>(2 * i * kBlock)));
  }

  void read_between(std::uint64_t holes) {
    for (std::uint64_t i = 0; i < holes; ++i)
      whole(pread(fd_, buffer_.data(), kBlock,
                  static_cast<off_t>((2 * (i * (blocks_ - 1) / holes) + 1) * kBlock)));
  }

  void seek_all() {
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      const auto data = static_cast<off_t>(2 * i * kBlock);
      const auto hole = static_cast<off_t>(data + static_cast<off_t>(kBlock));
      errno = EIO;
      if (lseek(fd_, data, SEEK_DATA) != data || lseek(fd_, data, SEEK_HOLE) != hole)
        lab::die(path_ + ": block " + std::to_string(2 * i));
    }
  }

 private:
  void whole(ssize_t n) const {
    if (n >= 0 && n != static_cast<ssize_t>(kBlock)) errno = EIO;
    if (n != static_cast<ssize_t>(kBlock)) lab::die(path_);
  }

  std::string path_;
  int fd_;
  std::uint64_t blocks_;
  std::string buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv, {{"step", "write"}, {"files", "1"}, {"blocks", "131072"}, {"holes", "0"}});
  const lab::Stopwatch clock;
  const std::string& step = options.text("step");
  if (step != "write" && step != "read" && step != "seek") {
    std::fprintf(stderr, "%s: --step is write, read or seek\n", argv[0]);
    return 2;
  }
  if (options.number("holes") >= options.number("blocks")) {
    std::fprintf(stderr, "%s: there are less holes than --blocks\n", argv[0]);
    return 2;
  }
  for (std::uint64_t i = 0; i < options.number("files"); ++i) {
    File file(options, i);
    if (step == "write")
      file.write_every_second();
    else if (step == "read")
      file.read_between(options.number("holes"));
    else
      file.seek_all();
  }
  lab::figure((step + "_s").c_str(), clock.seconds());
  return 0;
}
