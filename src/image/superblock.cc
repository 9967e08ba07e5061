// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/superblock.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/ext2_handle.h"
#include "image/files.h"
#include "image/image.h"
#include "image/input_file.h"
#include "util/bytes.h"

namespace e4r::image {
namespace {

constexpr std::uint64_t kSuperOffset = 1024;
// Descriptor tables of up to this size are accepted without checking that the file has that much
// data.
constexpr std::uint64_t kFreeDescriptorBytes = 64u << 20;

using Super = ext2_super_block;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}

Error damage_error(const Holder& file, const char* what) {
  return error("{}: damaged superblock ({}); try a backup on a copy: e2fsck -b 32768", file.path,
               what);
}

std::uint64_t blocks_count(const Super& sb) {
  const std::uint64_t high =
      sb.s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? sb.s_blocks_count_hi : 0;
  return high << 32 | sb.s_blocks_count;
}

std::uint64_t groups_count(const Super& sb) {
  return ceil_div(blocks_count(sb) - sb.s_first_data_block, sb.s_blocks_per_group);
}

// Like EXT2_DESC_SIZE(), which does not accept a const superblock.
std::uint32_t desc_size(const Super& sb) {
  return sb.s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? sb.s_desc_size : EXT2_MIN_DESC_SIZE;
}

bool is_power_of_two(std::uint64_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

// `bytes` is the superblock as stored on disk.
bool checksum_ok(const Super& sb, std::span<const std::byte> bytes) {
  if (!(sb.s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_METADATA_CSUM)) return true;
  const auto covered = bytes.first(offsetof(Super, s_checksum));
  return sb.s_checksum_type == EXT2_CRC32C_CHKSUM && crc32c(~0u, covered) == sb.s_checksum;
}

// Checks the sizes of blocks, clusters, inodes and descriptors. Returns the name of a wrong size,
// or nullptr if all are in range.
const char* wrong_sizes(const Super& sb) {
  if (sb.s_log_block_size > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE) return "block size";
  const bool bigalloc = sb.s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_BIGALLOC;
  if (sb.s_log_cluster_size > EXT2_MAX_CLUSTER_LOG_SIZE - EXT2_MIN_CLUSTER_LOG_SIZE ||
      sb.s_log_cluster_size < sb.s_log_block_size ||
      (!bigalloc && sb.s_log_cluster_size != sb.s_log_block_size))
    return "cluster size";
  const std::uint32_t block_size = 1024u << sb.s_log_block_size;
  const std::uint32_t inode_size = EXT2_INODE_SIZE(&sb);
  if (!is_power_of_two(inode_size) || inode_size < EXT2_GOOD_OLD_INODE_SIZE ||
      inode_size > block_size)
    return "inode size";
  const std::uint32_t desc = desc_size(sb);
  if (!is_power_of_two(desc) || desc < EXT2_MIN_DESC_SIZE || desc > EXT2_MAX_DESC_SIZE)
    return "group descriptor size";
  return nullptr;
}

// Checks group sizes and counts. wrong_sizes() must have found no error.
const char* wrong_counts(const Super& sb) {
  const std::uint32_t ratio_bits = sb.s_log_cluster_size - sb.s_log_block_size;
  const std::uint64_t bitmap_bits = std::uint64_t{8} * 1024 << sb.s_log_block_size;
  const std::uint64_t clusters = sb.s_clusters_per_group;
  if (clusters < 8 || clusters % 8 != 0 || clusters > bitmap_bits) return "clusters per group";
  if (sb.s_blocks_per_group != clusters << ratio_bits) return "blocks per group";
  if (sb.s_inodes_per_group == 0 || sb.s_inodes_per_group > bitmap_bits) return "inodes per group";
  // The kernel and e2fsck reject any other value (ext4_check_geometry, Linux 6.1).
  const bool boot_block = sb.s_log_block_size == 0 && ratio_bits == 0;
  if (sb.s_first_data_block != (boot_block ? 1u : 0u)) return "first data block";
  if (sb.s_first_data_block >= blocks_count(sb)) return "block count";
  if (sb.s_log_groups_per_flex > 31) return "flex_bg size";
  const std::uint64_t groups = groups_count(sb);
  if (groups > UINT32_MAX) return "block count";
  if (groups * sb.s_inodes_per_group != sb.s_inodes_count) return "inode count";
  return nullptr;
}

Status fits_file(const Super& sb, const Holder& file) {
  const std::uint64_t block_size = std::uint64_t{1024} << sb.s_log_block_size;
  if (blocks_count(sb) > file.size / block_size) {
    if (blocks_count(sb) > UINT64_MAX / block_size) return damage_error(file, "block count");
    return error(
        "{} is truncated: its file system has {} bytes, the file {}; copy it whole, or "
        "give it the rest as a hole with `truncate -s {} {}`",
        file.path, blocks_count(sb) * block_size, file.size, blocks_count(sb) * block_size,
        file.path);
  }
  if (groups_count(sb) * desc_size(sb) > std::max(kFreeDescriptorBytes, file.allocated))
    return damage_error(file, "more group descriptors than the file holds");
  return {};
}

Status check(const Super& sb, std::span<const std::byte> bytes, const Holder& file) {
  if (!checksum_ok(sb, bytes)) return damage_error(file, "its checksum is wrong");
  if (sb.s_feature_incompat & EXT3_FEATURE_INCOMPAT_JOURNAL_DEV)
    return error("{} is an external journal, not a file system: give the device it belongs to",
                 file.path);
  if (const char* what = wrong_sizes(sb)) return damage_error(file, what);
  if (const char* what = wrong_counts(sb)) return damage_error(file, what);
  return fits_file(sb, file);
}

}  // namespace

Status check_superblock(const Holder& file, std::span<const std::byte> head) {
  Super sb = {};
  const bool whole = head.size() >= kHeadBytes;
  if (whole) std::memcpy(&sb, head.data() + kSuperOffset, sizeof sb);
  change_order(sb);
  if (!whole || sb.s_magic != EXT2_SUPER_MAGIC || is_container(head))
    return not_an_image(file.path, head);
  return check(sb, head.subspan(kSuperOffset, sizeof sb), file);
}

Status check_superblock(const InputFile& file) {
  std::array<std::byte, kHeadBytes> head = {};
  const auto there = std::span(head).first(std::min(kHeadBytes, file.size()));
  E4R_CHECK(file.read(0, there));
  return check_superblock({file.path(), file.size(), file.allocated()}, there);
}

Geometry geometry_of(const Super& sb) {
  Geometry out;
  out.blocks_count = blocks_count(sb);
  out.first_data_block = sb.s_first_data_block;
  out.blocks_per_group = sb.s_blocks_per_group;
  out.clusters_per_group = sb.s_clusters_per_group;
  out.groups = static_cast<std::uint32_t>(groups_count(sb));
  out.inodes_per_group = sb.s_inodes_per_group;
  out.block_bits = 10 + sb.s_log_block_size;
  out.cluster_bits = sb.s_log_cluster_size - sb.s_log_block_size;
  out.flex_bg = (sb.s_feature_incompat & EXT4_FEATURE_INCOMPAT_FLEX_BG) != 0;
  out.log_groups_per_flex = out.flex_bg ? sb.s_log_groups_per_flex : 0;
  return out;
}

std::string uuid_text(const Super& sb) {
  std::string out;
  for (std::size_t i = 0; i < sizeof sb.s_uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", sb.s_uuid[i]);
  }
  return out;
}

namespace {

Features read_features(Super* sb) {
  Features f;
  f.extents = ext2fs_has_feature_extents(sb);
  f.bigalloc = ext2fs_has_feature_bigalloc(sb);
  f.is64bit = ext2fs_has_feature_64bit(sb);
  f.flex_bg = ext2fs_has_feature_flex_bg(sb);
  f.meta_bg = ext2fs_has_feature_meta_bg(sb);
  f.uninit_bg = ext2fs_has_feature_gdt_csum(sb);
  f.metadata_csum = ext2fs_has_feature_metadata_csum(sb);
  f.sparse_super = ext2fs_has_feature_sparse_super(sb);
  f.sparse_super2 = ext2fs_has_feature_sparse_super2(sb);
  f.has_journal = ext2fs_has_feature_journal(sb);
  f.resize_inode = ext2fs_has_feature_resize_inode(sb);
  f.inline_data = ext2fs_has_feature_inline_data(sb);
  return f;
}

void read_sizes(ext2_filsys fs, SuperblockInfo& geo) {
  Super* sb = fs->super;
  geo.clusters_count =
      std::uint64_t{geo.groups - 1} * geo.clusters_per_group + geo.clusters_in(geo.groups - 1);
  geo.inodes_count = sb->s_inodes_count;
  geo.inode_size = EXT2_INODE_SIZE(sb);
  geo.itable_blocks_per_group = fs->inode_blocks_per_group;
  geo.desc_size = EXT2_DESC_SIZE(sb);
  geo.desc_blocks = fs->desc_blocks;
  geo.reserved_gdt_blocks = sb->s_reserved_gdt_blocks;
  geo.first_meta_bg = sb->s_first_meta_bg;
  geo.first_inode = EXT2_FIRST_INODE(sb);
}

void read_state(Super* sb, SuperblockInfo& geo) {
  geo.needs_recovery = ext2fs_has_feature_journal_needs_recovery(sb);
  geo.clean = sb->s_state & EXT2_VALID_FS;
  geo.errors = sb->s_state & EXT2_ERROR_FS;
  geo.default_mount_opts = sb->s_default_mount_opts;
  geo.mount_opts = text_of(sb->s_mount_opts);
  geo.label = text_of(sb->s_volume_name);
  geo.uuid = uuid_text(*sb);
}

// Checks a group as the kernel does during a mount.
class DescriptorCheck {
 public:
  DescriptorCheck(ext2_filsys fs, const SuperblockInfo& geo, const Layout& layout)
      : fs_(fs), geo_(geo), super_block_(geo.block_size() == 1024 ? 1 : 0) {
    table_end_ = super_block_ + 1;  // group 0 holds the superblock, then the descriptors
    const std::uint64_t base = layout.base_blocks(0);
    if (base > geo.reserved_gdt_blocks) table_end_ = super_block_ + base - geo.reserved_gdt_blocks;
  }

  [[nodiscard]] GroupFault operator()(GroupNumber group, const GroupInfo& info) const {
    if (!ext2fs_group_desc_csum_verify(fs_, group)) return GroupFault::descriptor_checksum;
    if (!in_range(group, info, info.block_bitmap, 1) ||
        !in_range(group, info, info.inode_bitmap, 1) ||
        !in_range(group, info, info.inode_table, geo_.itable_blocks_per_group))
      return GroupFault::descriptor_range;
    if (group == 0 && info.block_uninit) return GroupFault::group_zero_uninit;
    return GroupFault::none;
  }

 private:
  // Whether the blocks lie within the group (with flex_bg, within the file system), and do not
  // overlap the primary superblock and descriptors.
  [[nodiscard]] bool in_range(GroupNumber group, const GroupInfo& info, Block first,
                              std::uint64_t count) const {
    const bool anywhere = geo_.features.flex_bg;
    const bool to_the_end = anywhere || group + 1 == geo_.groups;
    const Block low = anywhere ? geo_.first_data_block : info.first_block;
    const Block end = to_the_end ? geo_.blocks_count : info.first_block + geo_.blocks_per_group;
    const bool in_table = first >= super_block_ && first < table_end_;
    return first != 0 && !in_table && first >= low && first < end && count <= end - first;
  }

  ext2_filsys fs_;
  const SuperblockInfo& geo_;
  Block super_block_;
  Block table_end_;
};

GroupInfo read_group(ext2_filsys fs, const SuperblockInfo& geo, GroupNumber group) {
  GroupInfo info;
  info.first_block = geo.first_block(group);
  info.block_bitmap = ext2fs_block_bitmap_loc(fs, group);
  info.inode_bitmap = ext2fs_inode_bitmap_loc(fs, group);
  info.inode_table = ext2fs_inode_table_loc(fs, group);
  info.blocks = geo.blocks_in(group);
  info.clusters = geo.clusters_in(group);
  info.free_clusters = ext2fs_bg_free_blocks_count(fs, group);
  info.free_inodes = ext2fs_bg_free_inodes_count(fs, group);
  info.used_dirs = ext2fs_bg_used_dirs_count(fs, group);
  info.itable_unused = ext2fs_bg_itable_unused(fs, group);
  const auto flag = [&](std::uint16_t bit) {
    return geo.features.group_checksums() && ext2fs_bg_flags_test(fs, group, bit);
  };
  info.block_uninit = flag(EXT2_BG_BLOCK_UNINIT);
  info.inode_uninit = flag(EXT2_BG_INODE_UNINIT);
  info.itable_zeroed = flag(EXT2_BG_INODE_ZEROED);
  return info;
}

}  // namespace

SuperblockInfo read_superblock(ext2_filsys fs) {
  Super* sb = fs->super;
  SuperblockInfo geo{geometry_of(*sb)};
  geo.features = read_features(sb);
  read_sizes(fs, geo);
  geo.free_blocks_count = ext2fs_free_blocks_count(sb);
  geo.reserved_blocks = ext2fs_r_blocks_count(sb);
  geo.stride = sb->s_raid_stride;
  geo.stripe_width = sb->s_raid_stripe_width;
  read_state(sb, geo);
  return geo;
}

std::vector<GroupInfo> read_groups(ext2_filsys fs, const SuperblockInfo& superblock) {
  std::vector<GroupInfo> groups;
  groups.reserve(superblock.groups);
  for (GroupNumber group = 0; group < superblock.groups; ++group)
    groups.push_back(read_group(fs, superblock, group));
  const DescriptorCheck fault_of(fs, superblock, Layout(superblock, groups, fs));
  for (GroupNumber group = 0; group < superblock.groups; ++group)
    groups[group].fault = fault_of(group, groups[group]);
  return groups;
}

namespace {

constexpr std::uint64_t kCopiedAtOnce = 1 << 20;
constexpr std::array<unsigned char, 16> kJournalUuid = {'e', '4', 'r', 'e', 'p', 'l', 'a', 'y',
                                                        'j', 'o', 'u', 'r', 'n', 'a', 'l', '1'};
// The sizes of the smallest and largest journal that make_mountable() creates, in blocks. The
// kernel requires JBD2_MIN_JOURNAL_BLOCKS.
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
  // The kernel requires that the root directory's inode counts blocks, but it does not read them.
  root->i_blocks = fs->blocksize / 512;
  if (ext2fs_has_feature_extents(fs->super)) {
    root->i_flags = EXT4_EXTENTS_FL;
    auto* header = reinterpret_cast<ext3_extent_header*>(root->i_block);
    // libext2fs writes i_block of an inode with extents without swapping bytes.
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

// Clears the features and fields of the superblock that refer to data which the disks do not have.
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
  // The offset of the number of users (big-endian) in the journal's superblock. It is set to one.
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
  // One transaction can change every bitmap and descriptor, but it may use only a quarter of the
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
