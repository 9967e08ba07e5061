// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/bitmaps.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/ext2_handle.h"
#include "util/bytes.h"
#include "util/output.h"

namespace e4r::image {
namespace {

// The size of a run of bitmap blocks. It fits into a second-level cache.
constexpr std::size_t kRunBytes = 256u << 10;

// Whether every bit from `first` to the end of the block is set.
bool is_padded(std::span<const std::byte> raw, std::uint32_t first) {
  const std::size_t byte = first / 8;
  if (byte >= raw.size()) return true;
  const auto wanted = static_cast<std::byte>(0xff << (first % 8));
  if ((raw[byte] & wanted) != wanted) return false;
  return std::all_of(raw.begin() + static_cast<std::ptrdiff_t>(byte) + 1, raw.end(),
                     [](std::byte b) { return b == std::byte{0xff}; });
}

bool checksum_ok(ext2_filsys fs, GroupNumber group, std::uint32_t computed) {
  const auto* desc =
      reinterpret_cast<const ext4_group_desc*>(ext2fs_group_desc(fs, fs->group_desc, group));
  if (EXT2_DESC_SIZE(fs->super) < EXT4_BG_BLOCK_BITMAP_CSUM_HI_LOCATION)
    return (computed & 0xffff) == desc->bg_block_bitmap_csum_lo;
  return computed ==
         (std::uint32_t{desc->bg_block_bitmap_csum_hi} << 16 | desc->bg_block_bitmap_csum_lo);
}

}  // namespace

BitmapReader::BitmapReader(const Source& source)
    : source_(source), words_(source.superblock.words_per_group()) {
  const std::size_t block = source.superblock.block_size();
  const std::size_t blocks = std::max<std::size_t>(1, kRunBytes / block);
  buffer_.resize(std::min<std::size_t>(blocks, source.superblock.groups) * block);
}

std::span<std::byte> BitmapReader::slot(std::size_t index, std::size_t count) {
  const std::size_t block = source_.superblock.block_size();
  return std::span(buffer_).subspan(index * block, count * block);
}

bool BitmapReader::on_disk(GroupNumber group) const {
  const GroupInfo& info = source_.groups[group];
  return !info.bad() && !info.block_uninit;
}

// Returns the end of the run of groups that begins at `first` and whose bitmaps are adjacent. The
// run may contain uninitialised groups: reading a gap is cheaper than a second read.
GroupNumber BitmapReader::end_of_run(GroupNumber first, GroupNumber last) const {
  const std::size_t most = buffer_.size() / source_.superblock.block_size();
  const Block start = source_.groups[first].block_bitmap;
  GroupNumber end = first + 1;
  for (GroupNumber g = end; g < last && g - first < most; ++g) {
    const GroupInfo& info = source_.groups[g];
    if (info.bad() || info.block_bitmap != start + (g - first)) break;
    if (!info.block_uninit) end = g + 1;
  }
  return end;
}

void BitmapReader::fetch(GroupNumber first, GroupNumber end) {
  const std::size_t block = source_.superblock.block_size();
  const std::uint64_t offset = source_.groups[first].block_bitmap * block;
  const std::size_t count = end - first;
  readable_.assign(count, true);
  if (source_.file.read(offset, slot(0, count)).ok()) return;
  for (std::size_t i = 0; i < count; ++i)
    readable_[i] = source_.file.read(offset + i * block, slot(i)).ok();
}

GroupFault BitmapReader::decode(GroupNumber group, std::span<const std::byte> raw) {
  const SuperblockInfo& geo = source_.superblock;
  const std::uint32_t clusters = source_.groups[group].clusters;
  const std::size_t bytes = geo.clusters_per_group / 8;
  if (geo.features.metadata_csum &&
      !checksum_ok(source_.fs, group, crc32c(source_.fs->csum_seed, raw.first(bytes))))
    return GroupFault::bitmap_checksum;
  words_.back() = 0;
  std::memcpy(words_.data(), raw.data(), bytes);
  for (std::uint64_t& word : words_) word = from_le(word);
  if (!geo.features.flex_bg && !source_.layout.metadata_in_use(group, words_))
    return GroupFault::bitmap_metadata;
  if (!is_padded(raw, clusters)) return GroupFault::bitmap_padding;
  set_bits(words_, clusters, words_.size() * 64 - clusters);
  return GroupFault::none;
}

void BitmapReader::load(GroupNumber group, GroupNumber run_first) {
  GroupInfo& info = source_.groups[group];
  if (on_disk(group)) {
    const std::size_t at = group - run_first;
    info.fault = readable_[at] ? decode(group, slot(at)) : GroupFault::bitmap_read;
  } else if (!info.bad()) {
    source_.layout.init_bitmap(group, words_);
  }
  if (info.bad()) std::fill(words_.begin(), words_.end(), ~std::uint64_t{0});
}

void BitmapReader::read(GroupNumber first, GroupNumber last, const Visit& visit) {
  GroupNumber run_first = first;
  GroupNumber run_end = first;
  for (GroupNumber group = first; group < last; ++group) {
    if (group >= run_end && on_disk(group)) {
      run_first = group;
      run_end = end_of_run(group, last);
      fetch(run_first, run_end);
    }
    load(group, run_first);
    visit(group, words_);
  }
}

namespace {

constexpr std::size_t kPiece = 1 << 20;

Error cannot_write(const std::string& path, int errnum) {
  return error("cannot write {}: {}", path, errno_text(errnum));
}

// Writes only units that are not all zero, so the copy stays sparse.
Status write_data(int fd, std::span<const std::byte> piece, std::uint64_t offset,
                  const std::string& path) {
  constexpr std::size_t kUnit = 4096;
  const auto unit = [&](std::size_t at) {
    return piece.subspan(at, std::min(kUnit, piece.size() - at));
  };
  for (std::size_t at = 0; at < piece.size();) {
    std::size_t end = at;
    while (end < piece.size() && !all_zero(unit(end))) end += kUnit;
    end = std::min(end, piece.size());
    if (end > at) {
      const int failed = write_all_at(fd, piece.subspan(at, end - at), offset + at);
      if (failed != 0) return cannot_write(path, failed);
    }
    at = end > at ? end : at + kUnit;
  }
  return {};
}

// Returns the offset of the first byte at or after `offset` that may be nonzero. Returns the file
// size if no such byte follows.
std::uint64_t next_data(const InputFile& file, std::uint64_t offset) {
  const off_t at = ::lseek(file.fd(), static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<std::uint64_t>(at) / kPiece * kPiece;
  return errno == ENXIO ? file.size() : offset;
}

Status copy_sparse(const InputFile& from, int to, const std::string& path) {
  if (::ftruncate(to, static_cast<off_t>(from.size())) != 0) return cannot_write(path, errno);
  std::vector<std::byte> buffer(kPiece);
  for (std::uint64_t at = 0; at < from.size(); at += kPiece) {
    at = std::max(at, next_data(from, at));
    if (at >= from.size()) break;
    const std::span<std::byte> piece(buffer.data(),
                                     std::min<std::uint64_t>(kPiece, from.size() - at));
    E4R_CHECK(from.read(at, piece));
    E4R_CHECK(write_data(to, piece, at, path));
  }
  return {};
}

// Writes one group's bitmap and descriptor to the copy, and adds its free clusters to `free`.
errcode_t store(ext2_filsys fs, dgrp_t group, std::span<const std::uint64_t> words,
                std::vector<char>& block, std::uint64_t& free) {
  const std::uint32_t clusters = fs->super->s_clusters_per_group;
  if (words.empty()) {
    free += ext2fs_bg_free_blocks_count(fs, group);
    return 0;
  }
  std::fill(block.begin(), block.end(), static_cast<char>(0xff));
  for (std::size_t at = 0; at < clusters / 8; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = to_le(words[at / sizeof word]);
    std::memcpy(&block[at], &word, std::min(sizeof word, clusters / 8 - at));
  }
  std::uint32_t used = 0;
  for (const char byte : block)
    used += static_cast<std::uint32_t>(std::popcount(static_cast<unsigned char>(byte)));
  const std::uint32_t group_free = fs->blocksize * 8 - used;
  free += group_free;
  if (const errcode_t code =
          io_channel_write_blk64(fs->io, ext2fs_block_bitmap_loc(fs, group), 1, block.data()))
    return code;
  ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
  ext2fs_bg_free_blocks_count_set(fs, group, group_free);
  if (const errcode_t code =
          ext2fs_block_bitmap_csum_set(fs, group, block.data(), static_cast<int>(clusters / 8)))
    return code;
  ext2fs_group_desc_csum_set(fs, group);
  return 0;
}

errcode_t store_all(ext2_filsys fs, const NewBitmap& bitmap) {
  std::vector<char> block(fs->blocksize);
  std::uint64_t free = 0;
  fs->now =
      static_cast<time_t>(fs->super->s_wtime);  // otherwise libext2fs sets it to the current time
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group)
    if (const errcode_t code = store(fs, group, bitmap(group), block, free)) return code;
  ext2fs_free_blocks_count_set(fs->super, free << fs->cluster_ratio_bits);
  ext2fs_mark_super_dirty(fs);
  fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
  return 0;
}

bool same_file(int a, const std::string& path) {
  struct stat st = {};
  return ::fstat(a, &st) == 0 && file_id(st) == file_id(path);
}

// Copies the image, changes the copy, and then renames it to its final name.
template <class Change>
Status copy_and_change(const std::string& source, const OutputName& name, Change change) {
  E4R_TRY(const InputFile from, InputFile::open(source));
  if (same_file(from.fd(), name.path()))
    return error("{}: is the start image itself: give another name to write to", name.path());
  E4R_TRY(Output out, Output::create(name, OutputKind::file, {.mode = 0600}));
  E4R_CHECK(copy_sparse(from, out.fd(), name.path()));
  E4R_CHECK(change(out.open_path()));
  return out.commit();
}

// `name` is the name of the copy in messages.
Status fill_with_bitmaps(const InputFile& from, const Fd& copy, const std::string& name,
                         const NewBitmap& bitmap) {
  E4R_CHECK(copy_sparse(from, copy.get(), name));
  return change_ext2(copy.path(), name, [&](ext2_filsys fs) { return store_all(fs, bitmap); });
}

}  // namespace

Status write_with_bitmaps(const std::string& source, const OutputName& out,
                          const NewBitmap& bitmap) {
  return copy_and_change(source, out, [&](const std::string& copy) {
    return change_ext2(copy, out.path(), [&](ext2_filsys fs) { return store_all(fs, bitmap); });
  });
}

Result<Fd> anonymous_with_bitmaps(const std::string& source, const std::string& directory,
                                  const NewBitmap& bitmap) {
  E4R_TRY(const InputFile from, InputFile::open(source));
  E4R_TRY(Fd copy, anonymous_file(directory));
  E4R_CHECK(fill_with_bitmaps(from, copy, directory, bitmap));
  return copy;
}

Result<Fd> memory_with_bitmaps(const std::string& source, const NewBitmap& bitmap) {
  E4R_TRY(const InputFile from, InputFile::open(source));
  Fd copy = memory_file("e4replay image", from.size());
  if (!copy.is_open()) return error("cannot hold an image in memory: {}", errno_text(errno));
  E4R_CHECK(fill_with_bitmaps(from, copy, "an image in memory", bitmap));
  return copy;
}

Status write_copy(const std::string& source, const OutputName& out) {
  return copy_and_change(source, out, [](const std::string&) { return Status(); });
}

namespace {

template <class T>
void wipe(T& field) {
  std::memset(&field, 0, sizeof field);
}

void scrub_superblock(ext2_super_block& super) {
  wipe(super.s_volume_name);
  wipe(super.s_last_mounted);
  wipe(super.s_mount_opts);
  wipe(super.s_hash_seed);
  wipe(super.s_journal_uuid);
  std::memset(super.s_uuid, 0x11, sizeof super.s_uuid);
  super.s_mtime = super.s_wtime = super.s_mkfs_time = super.s_lastcheck = 0;
  super.s_mtime_hi = super.s_wtime_hi = super.s_mkfs_time_hi = super.s_lastcheck_hi = 0;
  super.s_first_error_time = super.s_last_error_time = 0;
  super.s_first_error_time_hi = super.s_last_error_time_hi = 0;
  super.s_first_error_ino = super.s_last_error_ino = 0;
  super.s_first_error_block = super.s_last_error_block = 0;
  wipe(super.s_first_error_func);
  wipe(super.s_last_error_func);
}

}  // namespace

Status scrub(const std::string& path) {
  return change_ext2(path, "the start image", [](ext2_filsys fs) -> errcode_t {
    if (ext2fs_has_feature_metadata_csum(fs->super) && !ext2fs_has_feature_csum_seed(fs->super)) {
      fs->super->s_checksum_seed = fs->csum_seed;
      ext2fs_set_feature_csum_seed(fs->super);
    }
    scrub_superblock(*fs->super);
    for (dgrp_t group = 0; group < fs->group_desc_count; ++group)
      ext2fs_group_desc_csum_set(fs, group);
    ext2fs_mark_super_dirty(fs);
    fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
    fs->flags |= EXT2_FLAG_MASTER_SB_ONLY;
    return 0;
  });
}

}  // namespace e4r::image
