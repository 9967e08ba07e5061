// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/write_bitmaps.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/ext2_handle.h"
#include "util/little_endian.h"
#include "util/output.h"
#include "util/zeros.h"

namespace e4r::image {
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

// The offset of the next byte, from `offset` on, that may be nonzero; the size of the file if none.
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
  fs->now = static_cast<time_t>(fs->super->s_wtime);  // which libext2fs would set to this second
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

// Copies the image, changes the copy, then gives it its name.
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
  E4R_CHECK(copy_sparse(from, copy.get(), directory));
  E4R_CHECK(
      change_ext2(copy.path(), directory, [&](ext2_filsys fs) { return store_all(fs, bitmap); }));
  return copy;
}

Status write_copy(const std::string& source, const OutputName& out) {
  return copy_and_change(source, out, [](const std::string&) { return Status(); });
}

}  // namespace e4r::image
