// SPDX-License-Identifier: GPL-2.0-or-later
// Opens the input as an image and calls every query. The input is the start of a file that
// continues as a hole, so counts can be large. The harness sets the correct checksum of the
// superblock, so that a damaged superblock also gets past the check.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "image/image.h"
#include "util/bytes.h"

namespace {

constexpr std::size_t kSuper = 1024;
constexpr std::size_t kChecksum = kSuper + 1020;
constexpr std::uint64_t kFileBytes = 64u << 20;

class MemoryFile {
 public:
  explicit MemoryFile(const std::vector<std::byte>& bytes) : fd_(::memfd_create("image", 0)) {
    const bool made =
        fd_ >= 0 && ::ftruncate(fd_, kFileBytes) == 0 &&
        ::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    if (!made) std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ask_for_all(e4r::image::Image& image) {
  const e4r::image::SuperblockInfo& geo = image.superblock();
  for (e4r::GroupNumber group = 0; group < geo.groups; ++group)
    if (image.groups()[group].bad() &&
        !std::ranges::all_of(image.bitmap(group), [](auto word) { return word == ~0ull; }))
      std::abort();
  for (const e4r::BlockRange& range : image.metadata())
    if (range.count == 0 || range.end() > geo.blocks_count) std::abort();
  for (std::uint32_t ino = 0; ino < 20; ++ino)
    if (image.inode(ino).ok()) (void)image.file_extents(ino, 1000);
  (void)image.inode(geo.inodes_count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (size >= kChecksum + 4) {
    const std::uint32_t crc =
        e4r::crc32c(~0u, std::span(bytes).subspan(kSuper, kChecksum - kSuper));
    std::memcpy(bytes.data() + kChecksum, &crc, sizeof crc);
  }
  const MemoryFile file(bytes);
  const bool strict = size > 0 && (data[0] & 1) != 0;
  auto image = e4r::image::Image::open(file.path(), {.strict = strict, .threads = 1});
  if (image.ok())
    ask_for_all(*image);
  else if (image.error().message.find('\n') != std::string::npos)
    std::abort();
  return 0;
}
