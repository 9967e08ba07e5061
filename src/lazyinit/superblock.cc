// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/superblock.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "util/bytes.h"

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kSuperOffset = 1024;
constexpr std::uint32_t kKnownIncompat =
    (EXT2_LIB_FEATURE_INCOMPAT_SUPP & ~EXT3_FEATURE_INCOMPAT_JOURNAL_DEV) |
    EXT4_FEATURE_INCOMPAT_MMP;
constexpr std::uint32_t kKnownRoCompat = EXT2_LIB_FEATURE_RO_COMPAT_SUPP;

// CRC-16 with the reflected polynomial 0xa001, a byte at a time.
constexpr std::array<std::uint16_t, 256> kCrc16 = [] {
  std::array<std::uint16_t, 256> table = {};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xa001 : 0);
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::uint16_t crc, std::span<const std::byte> data) {
  for (const std::byte byte : data)
    crc = static_cast<std::uint16_t>(crc >> 8 ^
                                     kCrc16[(crc ^ std::to_integer<unsigned>(byte)) & 0xff]);
  return crc;
}

bool is_power_of(std::uint32_t base, std::uint32_t n) {
  while (n % base == 0) n /= base;
  return n == 1;
}

}  // namespace

void Superblock::derive() {
  static_cast<Geometry&>(*this) = image::geometry_of(raw);
  inode_size = EXT2_INODE_SIZE(&raw);
  desc_size = EXT2_DESC_SIZE(&raw);
  descs_per_block = block_size() / desc_size;
  desc_blocks = (groups - 1) / descs_per_block + 1;
  itable_blocks = static_cast<std::uint32_t>(
      (std::uint64_t{inodes_per_group} * inode_size + block_size() - 1) / block_size());
  checksum_seed_ = has_incompat(EXT4_FEATURE_INCOMPAT_CSUM_SEED)
                       ? raw.s_checksum_seed
                       : crc32c(~0u, std::as_bytes(std::span(raw.s_uuid)));
}

Result<Superblock> Superblock::read(Target& target) {
  std::array<std::byte, image::kHeadBytes> buffer = {};
  const auto head = std::span(buffer).first(std::min(image::kHeadBytes, target.size()));
  E4R_CHECK(target.read(0, head));
  image::Holder holder{target.path(), target.size(), target.size()};
  if (!target.is_block_device()) {
    E4R_TRY(holder.allocated, target.allocated());
  }
  E4R_CHECK(image::check_superblock(holder, head));
  Superblock super;
  std::memcpy(&super.raw, head.data() + kSuperOffset, sizeof super.raw);
  image::change_order(super.raw);
  super.derive();
  return super;
}

Status Superblock::write(Target& target) const {
  ext2_super_block disk = raw;
  image::change_order(disk);
  const auto bytes = std::as_bytes(std::span(&disk, 1));
  if (metadata_csum())
    disk.s_checksum = to_le(crc32c(~0u, bytes.first(offsetof(ext2_super_block, s_checksum))));
  return target.write(kSuperOffset, bytes);
}

Status Superblock::check_features(const std::string& path) const {
  const std::uint32_t incompat = raw.s_feature_incompat & ~kKnownIncompat;
  const std::uint32_t ro_compat = raw.s_feature_ro_compat & ~kKnownRoCompat;
  if (incompat != 0 || ro_compat != 0)
    return error(
        "{}: has features that this program does not know (incompat {:#x}, ro_compat {:#x})", path,
        incompat, ro_compat);
  if (has_ro_compat(EXT4_FEATURE_RO_COMPAT_READONLY))
    return error("{}: is permanently read-only: tune2fs -O ^read-only changes that", path);
  return {};
}

Status Superblock::check_at_rest(const std::string& path) const {
  if (has_incompat(EXT3_FEATURE_INCOMPAT_RECOVER))
    return error("{}: its journal has to be replayed first: run e2fsck {}", path, path);
  if ((raw.s_state & EXT2_ERROR_FS) != 0)
    return error("{}: has errors on record: run e2fsck -f {}", path, path);
  if ((raw.s_state & EXT2_VALID_FS) == 0 || has_ro_compat(EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT))
    return error("{}: was not cleanly unmounted: run e2fsck -f {}", path, path);
  return {};
}

bool Superblock::has_copy(std::uint32_t group) const {
  if (group == 0) return true;
  if ((raw.s_feature_compat & EXT4_FEATURE_COMPAT_SPARSE_SUPER2) != 0)
    return group == raw.s_backup_bgs[0] || group == raw.s_backup_bgs[1];
  if (group == 1 || !has_ro_compat(EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER)) return true;
  return is_power_of(3, group) || is_power_of(5, group) || is_power_of(7, group);
}

std::uint64_t Superblock::descriptor_block(std::uint32_t index) const {
  const std::uint64_t super_block = kSuperOffset / block_size();  // the block of group 0's
                                                                  // superblock
  if (!has_incompat(EXT2_FEATURE_INCOMPAT_META_BG) || index < raw.s_first_meta_bg)
    return super_block + 1 + index;
  const std::uint32_t group = index * descs_per_block;
  if (group == 0) return super_block + 1;
  return first_block(group) + (has_copy(group) ? 1 : 0);
}

std::uint32_t Superblock::descriptors_in_a_row() const {
  if (!has_incompat(EXT2_FEATURE_INCOMPAT_META_BG)) return desc_blocks;
  return std::min(raw.s_first_meta_bg, desc_blocks);
}

std::vector<std::uint64_t> Superblock::copies_of_first_descriptor_block() const {
  std::vector<std::uint64_t> copies;
  for (std::uint32_t group = 1; group < groups; ++group)
    if (has_copy(group)) copies.push_back(first_block(group) + 1);
  return copies;
}

std::vector<std::uint64_t> Superblock::copies_with_meta_bg(std::uint32_t index) const {
  const std::uint32_t first = index * descs_per_block;
  std::vector<std::uint64_t> copies;
  for (const std::uint32_t group : {first + 1, first + descs_per_block - 1})
    if (group < groups) copies.push_back(first_block(group) + (has_copy(group) ? 1 : 0));
  return copies;
}

std::uint16_t Superblock::descriptor_checksum(std::uint32_t group,
                                              std::span<const std::byte> descriptor) const {
  constexpr std::size_t kAt = offsetof(ext4_group_desc, bg_checksum);
  constexpr std::size_t kNext = kAt + sizeof(std::uint16_t);
  const std::uint32_t stored = to_le(group);
  const auto number = std::as_bytes(std::span(&stored, 1));
  if (metadata_csum()) {
    const std::array<std::byte, kNext - kAt> zero = {};
    std::uint32_t crc = crc32c(checksum_seed_, number);
    crc = crc32c(crc, descriptor.first(kAt));
    crc = crc32c(crc, zero);
    return static_cast<std::uint16_t>(crc32c(crc, descriptor.subspan(kNext)));
  }
  if (!group_checksums()) return 0;
  std::uint16_t crc = crc16(0xffff, std::as_bytes(std::span(raw.s_uuid)));
  crc = crc16(crc, number);
  crc = crc16(crc, descriptor.first(kAt));
  return crc16(crc, descriptor.subspan(kNext));
}

bool Superblock::inode_bitmap_checksum_ok(std::span<const std::byte> bitmap,
                                          std::uint32_t stored) const {
  if (!metadata_csum()) return true;
  constexpr std::size_t kHighEnd =
      offsetof(ext4_group_desc, bg_inode_bitmap_csum_hi) + sizeof(std::uint16_t);
  const std::uint32_t mask = desc_size >= kHighEnd ? ~0u : 0xffffu;
  return (crc32c(checksum_seed_, bitmap) & mask) == (stored & mask);
}

bool Superblock::inode_checksum_ok(std::uint32_t number, std::span<const std::byte> inode) const {
  if (!metadata_csum()) return true;
  constexpr std::size_t kLow = offsetof(ext2_inode, osd2.linux2.l_i_checksum_lo);
  constexpr std::size_t kHigh = offsetof(ext2_inode_large, i_checksum_hi);
  constexpr std::size_t kHalf = sizeof(std::uint16_t);
  std::vector<std::byte> blank(inode.begin(), inode.end());
  const auto field = [&blank](auto& value, std::size_t at) {
    std::memcpy(&value, blank.data() + at, sizeof value);
    value = from_le(value);
  };
  const auto take = [&](std::size_t at) {
    std::uint16_t half = 0;
    field(half, at);
    std::fill_n(blank.begin() + static_cast<std::ptrdiff_t>(at), kHalf, std::byte{0});
    return std::uint32_t{half};
  };
  std::uint16_t extra = 0;
  if (inode.size() > EXT2_GOOD_OLD_INODE_SIZE)
    field(extra, offsetof(ext2_inode_large, i_extra_isize));
  const bool has_high = std::size_t{EXT2_GOOD_OLD_INODE_SIZE} + extra >= kHigh + kHalf;
  std::uint32_t stored = take(kLow);
  if (has_high) stored |= take(kHigh) << 16;
  const std::uint32_t number_on_disk = to_le(number);
  std::uint32_t crc = crc32c(checksum_seed_, std::as_bytes(std::span(&number_on_disk, 1)));
  crc = crc32c(crc, inode.subspan(offsetof(ext2_inode, i_generation), sizeof(std::uint32_t)));
  crc = crc32c(crc, blank);
  return (has_high ? crc : crc & 0xffffu) == stored;
}

bool Superblock::is_deleted_inode(std::uint32_t number, std::span<const std::byte> inode) const {
  ext2_inode_large copy = {};
  std::memcpy(&copy, inode.data(), std::min(sizeof copy, inode.size()));
  if (copy.i_links_count != 0) return false;
  const std::uint32_t inodes = raw.s_inodes_count;
  const bool early = raw.s_mkfs_time < inodes || raw.s_mtime < inodes || raw.s_wtime < inodes;
  const std::uint32_t deleted = from_le(copy.i_dtime);
  const bool has_time = deleted != 0 && (early || deleted >= inodes);
  if (!has_time) {
    copy.osd2.linux2.l_i_checksum_lo = 0;
    copy.i_checksum_hi = 0;
    if (!all_zero(std::as_bytes(std::span(&copy, 1)))) return false;
    if (inode.size() > sizeof copy && !all_zero(inode.subspan(sizeof copy))) return false;
  }
  return inode_checksum_ok(number, inode);
}

}  // namespace e4r::lazyinit
