// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/descriptors.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "util/little_endian.h"

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kMostInACall = 2u << 20;  // in one call

// The number whose halves these fields of a descriptor have, in the order of the disk.
template <std::unsigned_integral T>
auto join(T low, T high) {
  using Whole = std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>;
  return static_cast<Whole>(Whole{from_le(high)} << 8 * sizeof(T) | from_le(low));
}

// Calls visit(first, count) for each run of descriptor blocks that `wanted` has and that are
// neighbours on the target.
template <class Wanted, class Visit>
Status each_run(const Superblock& super, Wanted wanted, Visit visit) {
  const auto most =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostInACall / super.block_size(), 1));
  for (std::uint32_t first = 0; first < super.desc_blocks;) {
    if (!wanted(first)) {
      ++first;
      continue;
    }
    std::uint32_t count = 1;
    while (count < most && first + count < super.desc_blocks && wanted(first + count) &&
           super.descriptor_block(first + count) == super.descriptor_block(first) + count)
      ++count;
    E4R_CHECK(visit(first, count));
    first += count;
  }
  return {};
}

}  // namespace

Descriptors::Descriptors(const Superblock& super)
    : super_(&super),
      blocks_(std::size_t{super.desc_blocks} * super.block_size()),
      changed_(super.desc_blocks) {}

Result<Descriptors> Descriptors::read(Target& target, const Superblock& super) {
  Descriptors all(super);
  E4R_CHECK(each_run(
      super, [](std::uint32_t) { return true; },
      [&](std::uint32_t first, std::uint32_t count) -> Status {
        const std::uint64_t size = super.block_size();
        const std::uint64_t at = super.descriptor_block(first);
        if (at + count > super.blocks_count)
          return error("{}: group descriptors lie past its end: run e2fsck -f", target.path());
        return target.read(at * size, std::span(all.blocks_).subspan(first * size, count * size));
      }));
  return all;
}

std::span<std::byte> Descriptors::bytes(std::uint32_t group) {
  return std::span(blocks_).subspan(std::size_t{group} * super_->desc_size, super_->desc_size);
}

std::span<const std::byte> Descriptors::bytes(std::uint32_t group) const {
  return std::span(blocks_).subspan(std::size_t{group} * super_->desc_size, super_->desc_size);
}

ext4_group_desc Descriptors::load(std::uint32_t group) const {
  ext4_group_desc descriptor = {};
  std::memcpy(&descriptor, bytes(group).data(),
              std::min<std::size_t>(super_->desc_size, sizeof descriptor));
  return descriptor;
}

void Descriptors::store(std::uint32_t group, const ext4_group_desc& descriptor) {
  std::memcpy(bytes(group).data(), &descriptor,
              std::min<std::size_t>(super_->desc_size, sizeof descriptor));
  recompute_checksum(group);
}

Descriptor Descriptors::get(std::uint32_t group) const {
  const ext4_group_desc d = load(group);
  Descriptor out;
  out.block_bitmap = join(d.bg_block_bitmap, d.bg_block_bitmap_hi);
  out.inode_bitmap = join(d.bg_inode_bitmap, d.bg_inode_bitmap_hi);
  out.inode_table = join(d.bg_inode_table, d.bg_inode_table_hi);
  out.free_inodes = join(d.bg_free_inodes_count, d.bg_free_inodes_count_hi);
  out.itable_unused = join(d.bg_itable_unused, d.bg_itable_unused_hi);
  out.inode_bitmap_checksum = join(d.bg_inode_bitmap_csum_lo, d.bg_inode_bitmap_csum_hi);
  out.flags = from_le(d.bg_flags);
  return out;
}

bool Descriptors::checksum_ok(std::uint32_t group) const {
  return !super_->group_checksums() ||
         super_->descriptor_checksum(group, bytes(group)) == from_le(load(group).bg_checksum);
}

std::optional<std::uint32_t> Descriptors::first_damaged() const {
  for (std::uint32_t group = 0; group < count(); ++group)
    if (!checksum_ok(group)) return group;
  return std::nullopt;
}

void Descriptors::set_flags(std::uint32_t group, std::uint16_t flags) {
  ext4_group_desc d = load(group);
  if (from_le(d.bg_flags) == flags) return;
  d.bg_flags = to_le(flags);
  store(group, d);
}

void Descriptors::set_itable_unused(std::uint32_t group, std::uint32_t unused) {
  if (get(group).itable_unused == unused) return;
  ext4_group_desc d = load(group);
  d.bg_itable_unused = to_le(static_cast<std::uint16_t>(unused));
  d.bg_itable_unused_hi = to_le(static_cast<std::uint16_t>(unused >> 16));
  store(group, d);
}

void Descriptors::recompute_checksum(std::uint32_t group) {
  const std::uint16_t checksum = to_le(super_->descriptor_checksum(group, bytes(group)));
  std::memcpy(bytes(group).data() + offsetof(ext4_group_desc, bg_checksum), &checksum,
              sizeof checksum);
  changed_[group / super_->descs_per_block] = true;
}

Status Descriptors::write(Target& target) {
  const std::uint64_t size = super_->block_size();
  return each_run(
      *super_, [this](std::uint32_t index) { return changed_[index]; },
      [&](std::uint32_t first, std::uint32_t count) -> Status {
        E4R_CHECK(target.write(super_->descriptor_block(first) * size,
                               std::span(blocks_).subspan(first * size, count * size)));
        std::fill_n(changed_.begin() + first, count, false);
        return {};
      });
}

}  // namespace e4r::lazyinit
