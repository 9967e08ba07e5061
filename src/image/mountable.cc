// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/mountable.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/ext2_handle.h"
#include "image/image.h"
#include "image/input_file.h"
#include "util/little_endian.h"

namespace e4r::image {
namespace {

constexpr std::uint64_t kCopiedAtOnce = 1 << 20;
constexpr std::array<unsigned char, 16> kJournalUuid = {'e', '4', 'r', 'e', 'p', 'l', 'a', 'y',
                                                        'j', 'o', 'u', 'r', 'n', 'a', 'l', '1'};
// The smallest and largest journal made here, in blocks. The kernel requires
// JBD2_MIN_JOURNAL_BLOCKS.
constexpr std::uint64_t kLeastJournal = 4096, kMostJournal = 262144;

Error no_memory() {
  return error("cannot make a file in memory: {}", errno_text(errno));
}

Status copy_range(const InputFile& from, int to, std::uint64_t at, std::uint64_t end) {
  std::vector<std::byte> piece;
  for (; at < end; at += piece.size()) {
    piece.resize(std::min(kCopiedAtOnce, end - at));
    E4R_CHECK(from.read(at, piece));
    const int failed = write_all_at(to, piece, at);
    if (failed != 0) return error("cannot write to memory: {}", errno_text(failed));
  }
  return {};
}

errcode_t put_root(ext2_filsys fs) {
  std::vector<char> bytes(
      std::max<std::size_t>(EXT2_INODE_SIZE(fs->super), sizeof(ext2_inode_large)));
  auto* root = reinterpret_cast<ext2_inode_large*>(bytes.data());
  root->i_mode = LINUX_S_IFDIR | 0700;
  root->i_links_count = 2;
  root->i_size = fs->blocksize;
  // The kernel wants a root directory with blocks but does not look for them.
  root->i_blocks = fs->blocksize / 512;
  if (ext2fs_has_feature_extents(fs->super)) {
    root->i_flags = EXT4_EXTENTS_FL;
    auto* header = reinterpret_cast<ext3_extent_header*>(root->i_block);
    // libext2fs writes i_block of an inode with extents as it is.
    constexpr std::uint16_t kEntries =
        (sizeof(root->i_block) - sizeof(*header)) / sizeof(ext3_extent);
    header->eh_magic = to_le(std::uint16_t{EXT3_EXT_MAGIC});
    header->eh_max = to_le(kEntries);
  }
  if (EXT2_INODE_SIZE(fs->super) > EXT2_GOOD_OLD_INODE_SIZE)
    root->i_extra_isize = sizeof(*root) - EXT2_GOOD_OLD_INODE_SIZE;
  return ext2fs_write_inode_full(fs, EXT2_ROOT_INO, reinterpret_cast<ext2_inode*>(root),
                                 static_cast<int>(bytes.size()));
}

// Adapts the superblock: clears what a mount would need but the disks do not have.
errcode_t settle(ext2_filsys fs, std::uint32_t journal_device) {
  ext2_super_block& super = *fs->super;
  ext2fs_clear_feature_journal_needs_recovery(&super);
  ext2fs_clear_feature_mmp(&super);
  ext2fs_clear_feature_encrypt(&super);
  ext2fs_clear_feature_casefold(&super);
  ext2fs_clear_feature_orphan_file(&super);
  ext2fs_clear_feature_orphan_present(&super);
  ext2fs_clear_feature_quota(&super);
  ext2fs_clear_feature_project(&super);
  ext2fs_clear_feature_verity(&super);
  ext2fs_clear_feature_fast_commit(&super);
  super.s_state = EXT2_VALID_FS;
  super.s_last_orphan = 0;
  super.s_error_count = 0;
  super.s_orphan_file_inum = 0;
  super.s_usr_quota_inum = super.s_grp_quota_inum = super.s_prj_quota_inum = 0;
  super.s_journal_inum = 0;
  if (ext2fs_has_feature_journal(&super)) {
    super.s_journal_dev = journal_device;
    std::memcpy(super.s_journal_uuid, kJournalUuid.data(), kJournalUuid.size());
  }
  if (const errcode_t code = put_root(fs)) return code;
  ext2fs_mark_super_dirty(fs);
  fs->flags |= EXT2_FLAG_SUPER_ONLY;
  return 0;
}

// Makes a device with only a journal, as mke2fs -O journal_dev does.
errcode_t make_journal(const std::string& path, std::uint32_t block_size, std::uint64_t blocks) {
  ext2_super_block wanted = {};
  wanted.s_rev_level = EXT2_DYNAMIC_REV;
  wanted.s_log_block_size = 0;
  while ((1024u << wanted.s_log_block_size) < block_size) ++wanted.s_log_block_size;
  ext2fs_set_feature_journal_dev(&wanted);
  ext2fs_blocks_count_set(&wanted, blocks);
  ext2_filsys raw = nullptr;
  if (const errcode_t code =
          ext2fs_initialize(path.c_str(), EXT2_FLAG_RW, &wanted, unix_io_manager, &raw))
    return code;
  Ext2Handle fs(raw);
  std::memcpy(fs->super->s_uuid, kJournalUuid.data(), kJournalUuid.size());
  char* journal = nullptr;
  if (const errcode_t code =
          ext2fs_create_journal_superblock(fs.get(), static_cast<__u32>(blocks), 0, &journal))
    return code;
  // offset in the journal's superblock of the number of users (big-endian), here one
  constexpr std::size_t kUsers = 0x40;
  journal[kUsers + 3] = 1;
  const std::uint64_t at = fs->super->s_first_data_block + 1;
  errcode_t code = io_channel_set_blksize(fs->io, static_cast<int>(block_size));
  if (code == 0) code = io_channel_write_blk64(fs->io, at, 1, journal);
  ext2fs_free_mem(&journal);
  if (code != 0) return code;
  raw = fs.release();
  return ext2fs_close_free(&raw);
}

}  // namespace

Result<MountableDisks> make_mountable(const std::string& image_path, const std::string& named,
                                      std::uint32_t journal_device) {
  E4R_TRY(const Image image, Image::open(image_path, {.load_bitmaps = false, .name = named}));
  E4R_TRY(const InputFile file, InputFile::open(image_path, named));
  const Geometry& geometry = image.superblock();
  const std::uint64_t block_size = geometry.block_size();
  MountableDisks out;
  out.file_system = memory_file("e4replay disk", geometry.blocks_count * block_size);
  if (!out.file_system.is_open()) return no_memory();
  for (const BlockRange& range : image.bookkeeping())
    E4R_CHECK(copy_range(file, out.file_system.get(), range.first * block_size,
                         range.end() * block_size));
  bool journaled = false;
  E4R_CHECK(change_ext2(out.file_system.path(), named, [&](ext2_filsys fs) {
    journaled = ext2fs_has_feature_journal(fs->super);
    return settle(fs, journal_device);
  }));
  if (!journaled) return out;
  // One transaction can change every bitmap and descriptor. It may take up to a quarter of the
  // journal.
  const std::uint64_t blocks = std::clamp(8 * static_cast<std::uint64_t>(image.groups().size()),
                                          kLeastJournal, kMostJournal);
  out.journal = memory_file("e4replay journal", blocks * block_size);
  if (!out.journal.is_open()) return no_memory();
  if (const errcode_t code = make_journal(out.journal.path(), geometry.block_size(), blocks);
      code != 0)
    return error("cannot make a journal for {}: {}", named, ext2_text(code));
  return out;
}

}  // namespace e4r::image
