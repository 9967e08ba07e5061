// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lazyinit/target.h"
#include "util/fd.h"

namespace e4r::lazyinit {

// The ways of zeroing, tried in this order. A test or a benchmark can turn some off.
//
//   file    Holes are left alone: they read as zeros and should stay holes. Data is zeroed by
//           FALLOC_FL_ZERO_RANGE, which keeps the file's blocks. Where that is not supported, it
//           is zeroed by FALLOC_FL_PUNCH_HOLE (tmpfs has only that), and otherwise by writing.
//   device  BLKZEROOUT. The kernel sends WRITE ZEROES if the device has it, else it writes
//           zero pages (__blkdev_issue_zeroout, Linux 6.1 block/blk-lib.c). Zeroed::method says
//           which of the two it was, according to queue/write_zeroes_max_bytes in sysfs.
//
// Punching uses FALLOC_FL_PUNCH_HOLE for files and devices. For a device the kernel sends a WRITE
// ZEROES that may unmap the blocks. The call fails if the device does not have this command
// (blkdev_fallocate, Linux 6.1 block/fops.c).
struct Means {
  bool zero_range = true;
  bool punch_hole = true;
  bool zeroout = true;
};

// A Target with its own file descriptor: the result of Target::open().
class FileTarget : public Target {
 public:
  [[nodiscard]] static Result<std::unique_ptr<FileTarget>> open(const std::string& path,
                                                                Access access, Means means = {});

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] bool is_block_device() const override { return device_; }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override;
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length, ZeroBy by) override;
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Status sync() override;
  [[nodiscard]] Result<std::uint64_t> allocated() override;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
  };

  FileTarget(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  [[nodiscard]] Status learn_size();
  [[nodiscard]] Error fail(const char* what, std::uint64_t offset, int errnum) const;
  [[nodiscard]] Piece next_data(std::uint64_t offset, std::uint64_t end) const;
  [[nodiscard]] Result<Zeroed> zero_piece(Piece piece);
  [[nodiscard]] Status punch(Piece piece);
  [[nodiscard]] Result<bool> by_fallocate(std::atomic<bool>& usable, int mode, Piece piece);
  [[nodiscard]] Result<bool> by_zeroout(Piece piece);
  [[nodiscard]] Status write_zeros(Piece piece);
  [[nodiscard]] bool scan_piece(Piece piece, std::span<std::byte> buffer, Probed& probed) const;

  std::string path_;
  Fd fd_;
  std::uint64_t size_ = 0;
  bool device_ = false;
  bool write_zeroes_ = false;  // the device has the WRITE ZEROES command
  std::atomic<bool> zero_range_{true};
  std::atomic<bool> punch_hole_{true};
  std::atomic<bool> zeroout_{true};
};

}  // namespace e4r::lazyinit
