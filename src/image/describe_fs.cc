// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/describe_fs.h"

#include "image/layout.h"
#include "image/superblock.h"

namespace e4r::image {
namespace {

using Super = ext2_super_block;

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
    table_end_ = super_block_ + 1;  // group 0 has the superblock, then the descriptors
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
  // Whether the blocks are clear of the primary superblock and descriptors, and within the group
  // (with flex_bg, within the file system).
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

}  // namespace e4r::image
