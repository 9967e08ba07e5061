// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::lazyinit {

// How a range was made to read as zeros, from cheap to expensive.
enum class ZeroMethod : std::uint8_t {
  zero_range,    // FALLOC_FL_ZERO_RANGE or FALLOC_FL_PUNCH_HOLE on a file; no data is written
  write_zeroes,  // BLKZEROOUT on a block device
  write,         // zeros written like any data
};

// How to make a range zero.
enum class ZeroBy : std::uint8_t {
  cheapest,  // the cheapest way that the target supports; holes stay holes
  writing,   // zeros written like any data, even into holes, so that the range has blocks of its
             // own
  punching,  // the range releases its blocks: a hole in a file, unmapped on a device. An Error if
             // the target cannot guarantee zeros afterwards
};

struct Zeroed {
  ZeroMethod method = ZeroMethod::write;
  std::uint64_t written = 0;  // bytes of zeros written as data; 0 unless `method` is write
  std::uint64_t holes = 0;    // bytes that were already holes of a file and stayed holes
};

// The content of a range.
enum class Content : std::uint8_t {
  zeros,       // every byte is zero or in a hole
  data,        // at least one byte is not zero
  unreadable,  // a read failed; such space never counts as zeros (dm-integrity fails reads of
               // unwritten space)
};

struct Probed {
  Content content = Content::data;
  std::uint64_t first = 0;  // offset of the first non-zero or unreadable byte; unused for zeros
  std::uint64_t read = 0;   // bytes that had to be read; holes are not read
};

// The bytes of a file system on a regular file or a block device, addressed by offset and length in
// bytes. src/lazyinit, including its use of libext2fs (target_io.h), reads and writes only through
// this class. So a test can substitute a recorder that drops whatever was not synced.
//
// All functions may be called from several threads at once. Nothing is durable before sync().
class Target {
 public:
  enum class Access : std::uint8_t { read, write };

  // `write` opens the device exclusively (O_EXCL), so a mounted device is refused. The path may end
  // in "?offset=N" (place.h).
  [[nodiscard]] static Result<std::unique_ptr<Target>> open(const std::string& path, Access access);
  virtual ~Target() = default;

  [[nodiscard]] virtual const std::string& path() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual bool is_block_device() const = 0;
  // Reads or writes the whole range. The Error names the path and the offset and includes the errno
  // text.
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  [[nodiscard]] virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Makes the range read as zeros. A method that the target lacks is tried only once.
  [[nodiscard]] virtual Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                            ZeroBy by) = 0;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length) {
    return zero(offset, length, ZeroBy::cheapest);
  }
  // Looks for holes first (SEEK_DATA), then reads the data. A failing read is a result, not an
  // Error.
  [[nodiscard]] virtual Result<Probed> probe(std::uint64_t offset, std::uint64_t length) = 0;
  // Makes everything durable that was written or zeroed before (fdatasync).
  [[nodiscard]] virtual Status sync() = 0;
  // Bytes that the file occupies on its own disk (st_blocks); 0 for a device.
  [[nodiscard]] virtual Result<std::uint64_t> allocated() = 0;

 protected:
  // Returns an Error for a range that does not lie within size().
  [[nodiscard]] Status check_range(std::uint64_t offset, std::uint64_t length) const;
};

// Internal to src/lazyinit: a Target on top of another one. Forwards everything; a derived class
// overrides the calls that it changes.
class TargetOver : public Target {
 public:
  [[nodiscard]] const std::string& path() const override { return below_->path(); }
  [[nodiscard]] std::uint64_t size() const override { return below_->size(); }
  [[nodiscard]] bool is_block_device() const override { return below_->is_block_device(); }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return below_->read(offset, bytes);
  }
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return below_->write(offset, bytes);
  }
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    return below_->zero(offset, length, by);
  }
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override {
    return below_->probe(offset, length);
  }
  [[nodiscard]] Status sync() override { return below_->sync(); }
  [[nodiscard]] Result<std::uint64_t> allocated() override { return below_->allocated(); }

 protected:
  explicit TargetOver(std::unique_ptr<Target> below) : below_(std::move(below)) {}
  [[nodiscard]] Target& below() const { return *below_; }

 private:
  std::unique_ptr<Target> below_;
};

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
