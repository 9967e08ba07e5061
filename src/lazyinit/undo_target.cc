// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/undo_target.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "lazyinit/superblock.h"
#include "lazyinit/target_io.h"
#include "lazyinit/target_over.h"
#include "util/little_endian.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kMostBytes = 1u << 20;  // in one call

// undo_close() of libext2fs 1.47 leaks its map of written blocks, once for each undo file.
// LeakSanitizer must ignore that.
#ifdef __SANITIZE_ADDRESS__
using LeakAllowed = __lsan::ScopedDisabler;
#else
struct LeakAllowed {
  LeakAllowed() {}
};
#endif

class UndoTarget final : public TargetOver {
 public:
  UndoTarget(std::unique_ptr<Target> below, std::string file)
      : TargetOver(std::move(below)), io_(this->below()), file_(std::move(file)) {}

  ~UndoTarget() override {
    if (channel_ != nullptr) io_channel_close(channel_);
  }
  UndoTarget(const UndoTarget&) = delete;
  UndoTarget& operator=(const UndoTarget&) = delete;

  Status open(std::uint32_t block_size) {
    const LeakAllowed allowed;
    set_undo_io_backing_manager(TargetIo::manager());
    set_undo_io_backup_file(file_.data());
    errcode_t code = undo_io_manager->open(io_.name().c_str(), IO_FLAG_RW, &channel_);
    if (code == 0) code = io_channel_set_blksize(channel_, static_cast<int>(block_size));
    return checked(code);
  }

  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    return write_locked(offset, bytes);
  }

  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    const std::lock_guard lock(mutex_);
    E4R_TRY(Zeroed total, below().zero(offset, 0, ZeroBy::cheapest));
    for (std::uint64_t done = 0; done < length; done += std::min(length - done, kMostBytes)) {
      const std::uint64_t step = std::min(length - done, kMostBytes);
      E4R_TRY(const Zeroed zeroed, zero_locked(offset + done, step, by));
      total.method = std::max(total.method, zeroed.method);
      total.written += zeroed.written;
      total.holes += zeroed.holes;
    }
    return total;
  }

  [[nodiscard]] Status sync() override {
    const std::lock_guard lock(mutex_);
    return checked(io_channel_flush(channel_));
  }

 private:
  Status checked(errcode_t code) const {
    if (code == 0) return {};
    const std::string detail = io_.last_error();
    if (!detail.empty()) return error("{}", detail);
    return error("cannot write the undo file {}: {}", file_, image::ext2_text(code));
  }

  // Zeros stay zeros, so the undo file need not keep them.
  Result<Zeroed> zero_locked(std::uint64_t offset, std::uint64_t length, ZeroBy by) {
    E4R_TRY(const Probed probed, below().probe(offset, length));
    if (probed.content == Content::zeros) return below().zero(offset, length, by);
    const auto block = static_cast<std::uint64_t>(channel_->block_size);
    if (by == ZeroBy::writing || offset % block != 0 || length % block != 0) {
      E4R_CHECK(write_locked(offset, std::vector<std::byte>(length)));
      return Zeroed{.method = ZeroMethod::write, .written = length};
    }
    const LeakAllowed allowed;
    E4R_CHECK(checked(io_channel_zeroout(channel_, offset / block, length / block)));
    if (by == ZeroBy::punching) return below().zero(offset, length, by);
    return io_.last_zeroed();
  }

  Status write_locked(std::uint64_t offset, std::span<const std::byte> bytes) {
    const LeakAllowed allowed;
    const auto block = static_cast<std::uint64_t>(channel_->block_size);
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), kMostBytes));
      const bool whole = offset % block == 0 && piece.size() % block == 0;
      if (whole)
        E4R_CHECK(checked(io_channel_write_blk64(
            channel_, offset / block, static_cast<int>(piece.size() / block), piece.data())));
      else
        E4R_CHECK(checked(
            io_channel_write_byte(channel_, offset, static_cast<int>(piece.size()), piece.data())));
      bytes = bytes.subspan(piece.size());
      offset += piece.size();
    }
    return {};
  }

  TargetIo io_;
  std::string file_;
  io_channel channel_ = nullptr;
  std::mutex mutex_;
};

// The start of an undo file, in the order of the disk (e2undo, lib/ext2fs/undo_io.c of 1.47).
struct Header {
  std::array<char, 8> magic;
  std::uint64_t keys;
  std::uint64_t super_offset, key_offset;
  std::uint32_t block_size;
  std::uint32_t more;
};
static_assert(sizeof(Header) == 40);

// libext2fs 1.47 writes a key behind the end of its block if it continues a file whose last block
// of keys is full (undo_write_tdb() after try_reopen_undo_file()).
Status has_room(const std::string& file) {
  Header header = {};
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  constexpr std::uint32_t kKey = 16;
  const std::uint64_t in_block = from_le(header.block_size) / kKey;
  if (in_block < 2 || (header.keys != 0 && from_le(header.keys) % (in_block - 1) == 0))
    return error("libext2fs cannot go on with the undo file {}", file);
  return {};
}

Result<std::unique_ptr<Target>> undo_target(std::unique_ptr<Target> below,
                                            const std::string& file) {
  E4R_TRY(const Superblock super, Superblock::read(*below));
  auto target = std::make_unique<UndoTarget>(std::move(below), file);
  E4R_CHECK(target->open(super.block_size()));
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace

Result<std::unique_ptr<Target>> keep_undo(std::unique_ptr<Target> below, const std::string& file) {
  std::error_code gone;
  if (std::filesystem::exists(file, gone))
    return error("--undo {}: it exists already: give the name of a new file", file);
  return undo_target(std::move(below), file);
}

Result<std::unique_ptr<Target>> go_on_with_undo(std::unique_ptr<Target> below,
                                                const std::string& file) {
  E4R_CHECK(has_room(file));
  return undo_target(std::move(below), file);
}

}  // namespace e4r::lazyinit
