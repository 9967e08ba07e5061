// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/layered_targets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "lazyinit/place.h"
#include "lazyinit/superblock.h"
#include "lazyinit/target.h"
#include "lazyinit/target_io.h"
#include "util/bytes.h"

namespace e4r::lazyinit {

bool ScratchTarget::is_touched(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t end = offset + length;
  const auto page = pages_.lower_bound(offset / kPage * kPage);
  if (page != pages_.end() && page->first < end) return true;
  auto zeros = zeros_.upper_bound(offset);
  if (zeros != zeros_.begin() && std::prev(zeros)->second > offset) return true;
  return zeros != zeros_.end() && zeros->first < end;
}

// Zeroes the parts of `bytes` that lie in zeroed ranges.
void ScratchTarget::blank(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::uint64_t end = offset + bytes.size();
  auto range = zeros_.upper_bound(offset);
  if (range != zeros_.begin()) --range;
  for (; range != zeros_.end() && range->first < end; ++range) {
    const std::uint64_t from = std::max(range->first, offset);
    const std::uint64_t to = std::min(range->second, end);
    if (from < to) std::fill_n(bytes.begin() + (from - offset), to - from, std::byte{0});
  }
}

Status ScratchTarget::read_locked(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(below().read(offset, bytes));
  blank(offset, bytes);
  const std::uint64_t end = offset + bytes.size();
  for (auto page = pages_.lower_bound(offset / kPage * kPage);
       page != pages_.end() && page->first < end; ++page) {
    const std::uint64_t from = std::max(page->first, offset);
    const std::uint64_t to = std::min(page->first + kPage, end);
    std::copy_n(page->second->begin() + (from - page->first), to - from,
                bytes.begin() + (from - offset));
  }
  return {};
}

Status ScratchTarget::write_locked(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t start = offset / kPage * kPage;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), start + kPage - offset);
    auto page = pages_.find(start);
    if (page == pages_.end()) {
      auto fresh = std::make_unique<Page>();
      const std::size_t there = std::min(kPage, size() - start);
      E4R_CHECK(read_locked(start, std::span(*fresh).first(there)));
      page = pages_.emplace(start, std::move(fresh)).first;
    }
    std::copy_n(bytes.begin(), count, page->second->begin() + (offset - start));
    bytes = bytes.subspan(count);
    offset += count;
  }
  return {};
}

Status ScratchTarget::read(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  const std::lock_guard lock(mutex_);
  return read_locked(offset, bytes);
}

Status ScratchTarget::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  const std::lock_guard lock(mutex_);
  return write_locked(offset, bytes);
}

void ScratchTarget::add_zeros(std::uint64_t offset, std::uint64_t end) {
  auto next = zeros_.upper_bound(offset);
  if (next != zeros_.begin() && std::prev(next)->second >= offset) --next;
  while (next != zeros_.end() && next->first <= end) {
    offset = std::min(offset, next->first);
    end = std::max(end, next->second);
    next = zeros_.erase(next);
  }
  zeros_[offset] = end;
}

Result<Zeroed> ScratchTarget::zero(std::uint64_t offset, std::uint64_t length, ZeroBy /*by*/) {
  E4R_CHECK(check_range(offset, length));
  const std::lock_guard lock(mutex_);
  for (auto page = pages_.lower_bound(offset / kPage * kPage);
       page != pages_.end() && page->first < offset + length; ++page) {
    const std::uint64_t from = std::max(page->first, offset);
    const std::uint64_t to = std::min(page->first + kPage, offset + length);
    std::fill_n(page->second->begin() + (from - page->first), to - from, std::byte{0});
  }
  if (length != 0) add_zeros(offset, offset + length);
  return Zeroed{ZeroMethod::write, length};
}

Result<Probed> ScratchTarget::probe(std::uint64_t offset, std::uint64_t length) {
  E4R_CHECK(check_range(offset, length));
  {
    const std::lock_guard lock(mutex_);
    if (is_touched(offset, length)) {
      std::vector<std::byte> bytes(length);
      E4R_CHECK(read_locked(offset, bytes));
      const std::size_t found = first_nonzero(bytes);
      if (found == bytes.size()) return Probed{Content::zeros, 0, length};
      return Probed{Content::data, offset + found, length};
    }
  }
  return below().probe(offset, length);
}

}  // namespace e4r::lazyinit

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kMostBytes = 1u << 20;  // maximum number of bytes that one call writes

// For each undo file, undo_close() of libext2fs 1.47 leaks its map of written blocks. LeakSanitizer
// must ignore that.
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
    return check(code);
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
    return check(io_channel_flush(channel_));
  }

 private:
  Status check(errcode_t code) const {
    if (code == 0) return {};
    const std::string detail = io_.last_error();
    if (!detail.empty()) return error("{}", detail);
    return error("cannot write the undo file {}: {}", file_, image::ext2_text(code));
  }

  // A range that reads as zeros does not change, so it need not be saved in the undo file.
  Result<Zeroed> zero_locked(std::uint64_t offset, std::uint64_t length, ZeroBy by) {
    E4R_TRY(const Probed probed, below().probe(offset, length));
    if (probed.content == Content::zeros) return below().zero(offset, length, by);
    const auto block = static_cast<std::uint64_t>(channel_->block_size);
    if (by == ZeroBy::writing || offset % block != 0 || length % block != 0) {
      E4R_CHECK(write_locked(offset, std::vector<std::byte>(length)));
      return Zeroed{.method = ZeroMethod::write, .written = length};
    }
    const LeakAllowed allowed;
    E4R_CHECK(check(io_channel_zeroout(channel_, offset / block, length / block)));
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
        E4R_CHECK(check(io_channel_write_blk64(
            channel_, offset / block, static_cast<int>(piece.size() / block), piece.data())));
      else
        E4R_CHECK(check(
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

// The start of an undo file, in on-disk byte order (e2undo, lib/ext2fs/undo_io.c of 1.47).
struct Header {
  std::array<char, 8> magic;
  std::uint64_t keys;
  std::uint64_t super_offset, key_offset;
  std::uint32_t block_size;
  std::uint32_t more;
};
static_assert(sizeof(Header) == 40);

// Returns an Error if the last block of keys in the undo file is full. If libext2fs 1.47 continued
// such a file, it would write a key beyond the end of that block (undo_write_tdb() after
// try_reopen_undo_file()).
Status has_room(const std::string& file) {
  Header header = {};
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  constexpr std::uint32_t kKey = 16;
  const std::uint64_t in_block = from_le(header.block_size) / kKey;
  if (in_block < 2 || (header.keys != 0 && from_le(header.keys) % (in_block - 1) == 0))
    return error("libext2fs cannot continue the undo file {}", file);
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

Result<std::unique_ptr<Target>> continue_undo(std::unique_ptr<Target> below,
                                              const std::string& file) {
  E4R_CHECK(has_room(file));
  return undo_target(std::move(below), file);
}

namespace {

class MmpTarget final : public TargetOver {
 public:
  explicit MmpTarget(std::unique_ptr<Target> below) : TargetOver(std::move(below)) {}
  ~MmpTarget() override {
    if (held_) ext2fs_mmp_stop(over_->fs());
  }
  MmpTarget(const MmpTarget&) = delete;
  MmpTarget& operator=(const MmpTarget&) = delete;

  Status start() {
    E4R_TRY(over_, Ext2OverTarget::open(below()));
    ext2_filsys fs = over_->fs();
    // libext2fs reads the MMP block directly from the device with this name, bypassing all caches,
    // so the name must be the real path.
    ext2fs_free_mem(&fs->device_name);
    fs->device_name = ::strdup(path().c_str());
    fs->flags &= ~EXT2_FLAG_SKIP_MMP;
    const errcode_t code = ext2fs_mmp_start(fs);
    if (code == EXT2_ET_MMP_FSCK_ON)
      return error(
          "{}: multiple-mount protection: e2fsck or a similar program is using it, here or on "
          "another host, or was killed: if you are sure that none is, run tune2fs -f -E clear_mmp "
          "{}",
          path(), path());
    if (code == EXT2_ET_MMP_FAILED)
      return error("{}: multiple-mount protection: another host has it mounted", path());
    E4R_CHECK(over_->check(code, "start multiple-mount protection"));
    held_ = true;
    return {};
  }

  [[nodiscard]] Status sync() override {
    const std::lock_guard lock(mutex_);
    const errcode_t code = ext2fs_mmp_update2(over_->fs(), 1);
    if (code == EXT2_ET_MMP_CHANGE_ABORT)
      return error("{}: multiple-mount protection: another host has started to use it", path());
    E4R_CHECK(over_->check(code, "keep multiple-mount protection"));
    return below().sync();
  }

 private:
  std::unique_ptr<Ext2OverTarget> over_;
  std::mutex mutex_;
  bool held_ = false;
};

}  // namespace

Result<std::unique_ptr<Target>> hold_mmp(std::unique_ptr<Target> below) {
  const auto super = Superblock::read(*below);
  if (!super.ok() || !super->has_incompat(EXT4_FEATURE_INCOMPAT_MMP)) return below;
  if (place_of(below->path()).offset != 0)
    return error("{}: libext2fs has no multiple-mount protection at an offset: tune2fs -O ^mmp {}",
                 below->path(), below->path());
  auto target = std::make_unique<MmpTarget>(std::move(below));
  E4R_CHECK(target->start());
  return std::unique_ptr<Target>(std::move(target));
}

namespace {

class OffsetTarget final : public TargetOver {
 public:
  OffsetTarget(std::unique_ptr<Target> file, const ImageLocation& place)
      : TargetOver(std::move(file)), offset_(place.offset), path_(name_of(place)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return below().size() - offset_; }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    E4R_CHECK(check_range(offset, bytes.size()));
    return below().read(offset + offset_, bytes);
  }
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    E4R_CHECK(check_range(offset, bytes.size()));
    return below().write(offset + offset_, bytes);
  }
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    E4R_CHECK(check_range(offset, length));
    return below().zero(offset + offset_, length, by);
  }
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override {
    E4R_CHECK(check_range(offset, length));
    E4R_TRY(Probed probed, below().probe(offset + offset_, length));
    if (probed.content != Content::zeros) probed.first -= offset_;
    return probed;
  }

 private:
  std::uint64_t offset_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Target>> target_from_offset(std::unique_ptr<Target> file,
                                                   const ImageLocation& place) {
  if (place.offset == 0) return file;
  if (place.offset >= file->size())
    return error("{}: the file ends at {}", name_of(place), file->size());
  return std::unique_ptr<Target>(new OffsetTarget(std::move(file), place));
}

}  // namespace e4r::lazyinit
