// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/superblock.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "util/crc32c.h"

namespace e4r::image {
namespace {

constexpr std::uint64_t kSuperOffset = 1024;
// Descriptor tables of up to this size are accepted without a check that the file has that much
// data.
constexpr std::uint64_t kFreeDescriptorBytes = 64u << 20;

using Super = ext2_super_block;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}

Error damaged(const Holder& file, const char* what) {
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

// EXT2_DESC_SIZE(), which takes no const superblock.
std::uint32_t desc_size(const Super& sb) {
  return sb.s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? sb.s_desc_size : EXT2_MIN_DESC_SIZE;
}

bool is_power_of_two(std::uint64_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

// Also needs the superblock's bytes as they are on the disk.
bool checksum_ok(const Super& sb, std::span<const std::byte> bytes) {
  if (!(sb.s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_METADATA_CSUM)) return true;
  const auto covered = bytes.first(offsetof(Super, s_checksum));
  return sb.s_checksum_type == EXT2_CRC32C_CHKSUM && crc32c(~0u, covered) == sb.s_checksum;
}

// Checks the sizes of blocks, clusters, inodes and descriptors; nullptr if they are in range.
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

// Checks group sizes and counts, once the sizes above are in range.
const char* wrong_counts(const Super& sb) {
  const std::uint32_t ratio_bits = sb.s_log_cluster_size - sb.s_log_block_size;
  const std::uint64_t bitmap_bits = std::uint64_t{8} * 1024 << sb.s_log_block_size;
  const std::uint64_t clusters = sb.s_clusters_per_group;
  if (clusters < 8 || clusters % 8 != 0 || clusters > bitmap_bits) return "clusters per group";
  if (sb.s_blocks_per_group != clusters << ratio_bits) return "blocks per group";
  if (sb.s_inodes_per_group == 0 || sb.s_inodes_per_group > bitmap_bits) return "inodes per group";
  // The kernel and e2fsck refuse anything else (ext4_check_geometry, Linux 6.1).
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
    if (blocks_count(sb) > UINT64_MAX / block_size) return damaged(file, "block count");
    return error(
        "{} is truncated: its file system has {} bytes, the file {}; copy it whole, or "
        "give it the rest as a hole with `truncate -s {} {}`",
        file.path, blocks_count(sb) * block_size, file.size, blocks_count(sb) * block_size,
        file.path);
  }
  if (groups_count(sb) * desc_size(sb) > std::max(kFreeDescriptorBytes, file.allocated))
    return damaged(file, "more group descriptors than the file holds");
  return {};
}

Status check(const Super& sb, std::span<const std::byte> bytes, const Holder& file) {
  if (!checksum_ok(sb, bytes)) return damaged(file, "its checksum is wrong");
  if (sb.s_feature_incompat & EXT3_FEATURE_INCOMPAT_JOURNAL_DEV)
    return error("{} is an external journal, not a file system: give the device it belongs to",
                 file.path);
  if (const char* what = wrong_sizes(sb)) return damaged(file, what);
  if (const char* what = wrong_counts(sb)) return damaged(file, what);
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

}  // namespace e4r::image
