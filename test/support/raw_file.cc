// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/raw_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace e4r::test {
namespace {

class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Bytes read_at(const std::string& path, std::uint64_t offset, std::size_t count) {
  const File file(path, O_RDONLY);
  Bytes bytes(count);
  if (::pread(file.fd(), bytes.data(), count, static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(count))
    throw std::runtime_error("short read of " + path);
  return bytes;
}

void write_at(const std::string& path, std::uint64_t offset, const Bytes& bytes) {
  const File file(path, O_WRONLY);
  if (::pwrite(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("short write to " + path);
}

std::uint64_t hash_file(const std::string& path) {
  const File file(path, O_RDONLY);
  std::uint64_t hash = 0xcbf29ce484222325;
  Bytes chunk(1u << 20);
  for (ssize_t got = 0; (got = ::read(file.fd(), chunk.data(), chunk.size())) > 0;)
    for (ssize_t i = 0; i < got; ++i)
      hash = (hash ^ chunk[static_cast<std::size_t>(i)]) * 0x100000001b3;
  return hash;
}

}  // namespace e4r::test
