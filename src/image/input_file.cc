// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/input_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace e4r::image {
namespace {

// The magic bytes of a file format that is not an image, and advice for the user.
struct Lookalike {
  std::size_t offset;
  std::string_view magic;
  fmt::format_string<const std::string&> advice;
};

constexpr std::string_view kGzip("\x1f\x8b", 2);
constexpr std::string_view kZstd("\x28\xb5\x2f\xfd", 4);
constexpr std::string_view kXz("\xfd\x37zXZ", 5);
constexpr std::string_view kQcow2("QFI\xfb", 4);
constexpr std::string_view kE2image("\x10\xb7\x2b\x7f", 4);  // EXT2_ET_MAGIC_E2IMAGE
constexpr std::string_view kCapture(
    "\x89"
    "E4C\r\n\x1a\n",
    8);  // docs/capture-format.md
constexpr std::string_view kBootSignature("\x55\xaa", 2);

const auto& lookalikes() {
  static const std::array<Lookalike, 7> kTable = {{
      {0, kQcow2, "{0} is a QCOW2 image, not a raw one: convert it with `e2image -r {0} {0}.img`"},
      {0, kE2image,
       "{0} is an e2image without block positions: make a raw one with `e2image -r DEVICE "
       "{0}.img`"},
      {0, kGzip, "{0} is a gzip file: unpack it with `gunzip {0}`"},
      {0, kZstd, "{0} is a zstd file: unpack it with `zstd -d {0}`"},
      {0, kXz, "{0} is an xz file: unpack it with `unxz {0}`"},
      {0, kCapture,
       "{0} is a capture (.e4c), not an image: it is replayed alone; `e4replay freefrag {0} "
       "--extract-image FILE` writes the image in it"},
      {510, kBootSignature,
       "{0} is a partitioned disk, not a file system: give one partition of it"},
  }};
  return kTable;
}

Error wrong_kind(const std::string& path, mode_t mode) {
  if (S_ISDIR(mode)) return error("{} is a directory: give an image file or a block device", path);
  return error("{} is neither a regular file nor a block device: give an ext4 image", path);
}

Result<std::uint64_t> device_size(const std::string& path, int fd) {
  std::uint64_t bytes = 0;
  if (::ioctl(fd, BLKGETSIZE64, &bytes) != 0)
    return error("{}: size of the device: {}", path, errno_text(errno));
  return bytes;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& real_path, const std::string& name) {
  InputFile file;
  file.path_ = name.empty() ? real_path : name;
  const std::string& path = file.path_;
  // O_NONBLOCK avoids blocking on a pipe.
  file.fd_ = Fd(::open(real_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_.is_open()) return error("cannot open {}: {}", path, errno_text(errno));
  struct stat st = {};
  if (::fstat(file.fd(), &st) != 0) return error("{}: {}", path, errno_text(errno));
  if (S_ISREG(st.st_mode)) {
    file.size_ = static_cast<std::uint64_t>(st.st_size);
    file.allocated_ = static_cast<std::uint64_t>(st.st_blocks) * 512;
  } else if (S_ISBLK(st.st_mode)) {
    E4R_TRY(file.size_, device_size(path, file.fd()));
    file.allocated_ = file.size_;
  } else {
    return wrong_kind(path, st.st_mode);
  }
  return file;
}

Status InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error("{}: reading at byte {}: {}", path_, offset, errno_text(errno));
    if (got == 0) return error("{}: ends at byte {}", path_, offset);
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

bool is_container(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with(kQcow2) || text.starts_with(kE2image);
}

Error not_an_image(const std::string& path, std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Lookalike& kind : lookalikes())
    if (text.size() >= kind.offset && text.substr(kind.offset).starts_with(kind.magic))
      return error(kind.advice, path);
  return error(
      "{} is not an ext4 image: no ext2/3/4 superblock at byte 1024 (file {} says what it is)",
      path, path);
}

}  // namespace e4r::image
