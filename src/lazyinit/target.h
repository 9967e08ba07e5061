// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "util/status.h"

namespace e4r::lazyinit {

// How a range was made to read as zeros, from cheap to expensive.
enum class ZeroMethod : std::uint8_t {
  zero_range,    // FALLOC_FL_ZERO_RANGE or FALLOC_FL_PUNCH_HOLE on a file; no data goes anywhere
  write_zeroes,  // BLKZEROOUT on a block device
  write,         // zeros written like any data
};

// How to make a range zero.
enum class ZeroBy : std::uint8_t {
  cheapest,  // the cheapest that the target has; holes stay holes
  writing,   // zeros written like any data, into holes too: the range has blocks of its own
  punching,  // the range gives its blocks back: a hole in a file, unmapped on a device. An Error
             // where the target has no means that promises zeros afterwards
};

struct Zeroed {
  ZeroMethod method = ZeroMethod::write;
  std::uint64_t written = 0;  // bytes of zeros that were sent as data; 0 unless method is write
  std::uint64_t holes = 0;    // bytes that were holes of a file already, and were left so
};

// What a range reads as.
enum class Content : std::uint8_t {
  zeros,       // every byte read (or is in a hole) and is zero
  data,        // at least one byte is not zero
  unreadable,  // a read failed: never taken for zeros (dm-integrity does this for unwritten space)
};

struct Probed {
  Content content = Content::data;
  std::uint64_t first = 0;  // offset of the first non-zero or unreadable byte found; not for zeros
  std::uint64_t read = 0;   // bytes that had to be read: what is in holes is not
};

// The bytes of a file system on a regular file or a block device, by offset and length in bytes.
// src/lazyinit reads and writes only through this class, libext2fs included (target_io.h). So a
// test can put a recorder in its place and drop what was not synced.
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
  // Reads or writes the whole range. The Error names path, offset and errno's text.
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  [[nodiscard]] virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Makes the range read as zeros. A means that the target lacks is tried only once.
  [[nodiscard]] virtual Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                            ZeroBy by) = 0;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length) {
    return zero(offset, length, ZeroBy::cheapest);
  }
  // Looks for holes first (SEEK_DATA), then reads the data. A failing read is an answer, not an
  // Error.
  [[nodiscard]] virtual Result<Probed> probe(std::uint64_t offset, std::uint64_t length) = 0;
  // Makes durable what was written or zeroed before (fdatasync).
  [[nodiscard]] virtual Status sync() = 0;
  // Bytes that the file has on its own disk (st_blocks); 0 for a device.
  [[nodiscard]] virtual Result<std::uint64_t> allocated() = 0;

 protected:
  // Refuses a range that does not lie within size().
  [[nodiscard]] Status check_range(std::uint64_t offset, std::uint64_t length) const;
};

// Internal to src/lazyinit: a Target on top of another one. Hands everything on; a derived class
// overrides what it changes.
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

}  // namespace e4r::lazyinit
