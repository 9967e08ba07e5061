// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/ext4_tables.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "lazyinit/kernel_thread.h"
#include "util/bytes.h"

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kMostInACall = 2u << 20;  // most bytes that a call reads or writes

// Joins the low and high halves of a number, which are in on-disk byte order.
template <std::unsigned_integral T>
auto join(T low, T high) {
  using Whole = std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>;
  return static_cast<Whole>(Whole{from_le(high)} << 8 * sizeof(T) | from_le(low));
}

// Calls visit(first, count) for each run of descriptor blocks that `wanted` accepts and that are
// adjacent on the target.
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

Status Descriptors::write(Target& target, bool copies) {
  if (copies) E4R_CHECK(write_copies(target));
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

bool Descriptors::is_copy(Target& target, const Copy& copy) const {
  const std::uint64_t size = super_->block_size();
  if (copy.block + copy.count > super_->blocks_count) return false;
  std::vector<std::byte> there(copy.count * size);
  if (!target.read(copy.block * size, there).ok()) return false;
  const std::uint32_t group = copy.first * super_->descs_per_block;
  const std::uint64_t descriptors =
      std::min<std::uint64_t>(std::uint64_t{copy.count} * super_->descs_per_block, count() - group);
  // The fields before the counts are the block numbers of bitmaps and tables. A 64-byte descriptor
  // has their high halves at the same offsets in its second half.
  constexpr std::size_t kPlaces = offsetof(ext4_group_desc, bg_free_blocks_count);
  constexpr std::size_t kHigh = offsetof(ext4_group_desc, bg_block_bitmap_hi);
  for (std::uint64_t i = 0; i < descriptors; ++i) {
    const auto ours = bytes(static_cast<std::uint32_t>(group + i));
    const auto theirs = std::span(there).subspan(i * super_->desc_size, super_->desc_size);
    if (!std::ranges::equal(ours.first(kPlaces), theirs.first(kPlaces))) return false;
    if (super_->desc_size < kHigh + kPlaces) continue;
    if (!std::ranges::equal(ours.subspan(kHigh, kPlaces), theirs.subspan(kHigh, kPlaces)))
      return false;
  }
  return true;
}

std::vector<Descriptors::Copy> Descriptors::find_copies(Target& target) const {
  std::vector<Copy> copies;
  const auto add = [&](const Copy& copy) {
    if (is_copy(target, copy)) copies.push_back(copy);
  };
  const std::uint32_t in_a_row = super_->descriptors_in_a_row();
  if (in_a_row != 0)
    for (const std::uint64_t at : super_->copies_of_first_descriptor_block())
      add({at, 0, in_a_row});
  for (std::uint32_t index = in_a_row; index < super_->desc_blocks; ++index)
    for (const std::uint64_t at : super_->copies_with_meta_bg(index)) add({at, index, 1});
  return copies;
}

// Must be called before the primary blocks are written. In the other order, a crash could leave a
// copy that still has a flag which was cleared in the primary descriptor.
Status Descriptors::write_copies(Target& target) const {
  const std::uint64_t size = super_->block_size();
  for (const Copy& copy : find_copies(target)) {
    const auto begin = changed_.begin() + copy.first;
    const auto first = std::find(begin, begin + copy.count, true) - begin;
    if (first == copy.count) continue;
    // Writes everything from the first changed block to the end of the copy, in one call.
    const auto skipped = static_cast<std::uint64_t>(first);
    E4R_CHECK(target.write(
        (copy.block + skipped) * size,
        std::span(blocks_).subspan((copy.first + skipped) * size, (copy.count - skipped) * size)));
  }
  return {};
}

namespace {

// Blocks that belong to a group.
struct GroupBlocks : BlockRange {
  GroupNumber group = 0;
};

// All metadata with which no table may overlap, and the tables themselves.
std::vector<GroupBlocks> metadata_blocks(const Superblock& super, const Descriptors& descriptors) {
  const bool meta_bg = super.has_incompat(EXT2_FEATURE_INCOMPAT_META_BG);
  const std::uint32_t in_a_row = super.descriptors_in_a_row();
  std::vector<GroupBlocks> all;
  all.reserve(std::size_t{super.groups} * 3 + super.desc_blocks);
  for (std::uint32_t group = 0; group < super.groups; ++group) {
    const Descriptor d = descriptors.get(group);
    all.push_back({{d.inode_table, super.itable_blocks}, group});
    all.push_back({{d.inode_bitmap, 1}, group});
    all.push_back({{d.block_bitmap, 1}, group});
    if (super.has_copy(group))
      all.push_back({{group == 0 ? super.descriptor_block(0) - 1 : super.first_block(group),
                      std::uint64_t{1} + (group == 0 && meta_bg ? 1 : in_a_row)},
                     group});
  }
  for (std::uint32_t index = std::max(in_a_row, 1u); index < super.desc_blocks; ++index)
    all.push_back({{super.descriptor_block(index), 1}, index * super.descs_per_block});
  return all;
}

}  // namespace

Result<std::unique_ptr<Tables>> Tables::open(Target& target, Target::Access access) {
  E4R_TRY(std::unique_ptr<Tables> tables, Ext4Tables::open(target, access));
  return tables;
}

Result<std::unique_ptr<Ext4Tables>> Ext4Tables::open(Target& target, Target::Access access) {
  std::unique_ptr<Ext4Tables> tables(new Ext4Tables(target));
  E4R_TRY(tables->super_, Superblock::read(target));
  if (access == Target::Access::write) E4R_CHECK(tables->check_writable());
  E4R_CHECK(tables->load());
  if (access == Target::Access::write) {
    E4R_CHECK(tables->check_bitmaps());
    E4R_CHECK(tables->check_overlaps());
  }
  return tables;
}

Status Ext4Tables::load() {
  E4R_TRY(descriptors_, Descriptors::read(target_, super_));
  if (const auto group = descriptors_.first_damaged())
    return error("{}: the descriptor of group {} has a wrong checksum: run e2fsck -f {}",
                 target_.path(), *group, target_.path());
  tables_.reserve(super_.groups);
  for (std::uint32_t group = 0; group < super_.groups; ++group) {
    E4R_CHECK(check_group(group));
    tables_.push_back(make_table(group));
  }
  return {};
}

Status Ext4Tables::check_writable() const {
  E4R_CHECK(super_.check_features(target_.path()));
  return super_.check_at_rest(target_.path());
}

Status Ext4Tables::check_group(std::uint32_t group) const {
  const auto wrong = [&](std::string_view what) {
    return error("{}: group {}: {}: run e2fsck -f {}", target_.path(), group, what, target_.path());
  };
  const Descriptor d = descriptors_.get(group);
  if (d.inode_table <= super_.first_data_block || d.inode_table >= super_.blocks_count ||
      super_.itable_blocks > super_.blocks_count - d.inode_table)
    return wrong("its inode table lies outside the file system");
  if (!super_.group_checksums()) return {};
  const std::uint32_t inodes = super_.inodes_per_group;
  const std::uint64_t before = std::uint64_t{group} * inodes;
  const std::uint32_t reserved = EXT2_FIRST_INO(&super_.raw);
  if (d.itable_unused > inodes) return wrong("more unused inodes than there are");
  if (d.itable_unused > d.free_inodes) return wrong("more inodes never used than free");
  if ((d.flags & EXT2_BG_INODE_UNINIT) != 0) {
    if (d.free_inodes != inodes) return wrong("marked as never used, with inodes in use");
    if (before + 1 < reserved) return wrong("marked as never used, with reserved inodes");
  } else if (make_table(group).unused_part.length != 0 &&
             before + inodes - d.itable_unused + 1 < reserved) {
    return wrong("reserved inodes are counted as never used");
  }
  return {};
}

// Refuses what the kernel refuses at mount (ext4_check_descriptors, Linux 6.1). Must be called
// before anything is written.
Status Ext4Tables::check_bitmaps() const {
  const auto inside = [this](std::uint64_t block) {
    return block >= super_.first_data_block && block < super_.blocks_count;
  };
  for (std::uint32_t group = 0; group < super_.groups; ++group) {
    const Descriptor d = descriptors_.get(group);
    if (inside(d.block_bitmap) && inside(d.inode_bitmap)) continue;
    return error("{}: group {}: its {} bitmap lies outside the file system: run e2fsck -f {}",
                 target_.path(), group, inside(d.block_bitmap) ? "inode" : "block", target_.path());
  }
  return {};
}

// Refuses a table that shares a block with another table or with other metadata: zeroing the table
// would destroy the shared block.
Status Ext4Tables::check_overlaps() const {
  std::vector<GroupBlocks> all = metadata_blocks(super_, descriptors_);
  std::sort(all.begin(), all.end(),
            [](const GroupBlocks& a, const GroupBlocks& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    const GroupBlocks& before = all[i - 1];
    if (before.end() <= all[i].first) continue;
    return error("{}: metadata of groups {} and {} overlap at block {}: run e2fsck -f {}",
                 target_.path(), before.group, all[i].group, all[i].first, target_.path());
  }
  return {};
}

Table Ext4Tables::make_table(std::uint32_t group) const {
  const Descriptor d = descriptors_.get(group);
  const std::uint64_t size = super_.block_size();
  Table table;
  table.group = group;
  table.whole = {d.inode_table * size, super_.itable_blocks * size};
  table.unused_part = {table.whole.offset + table.whole.length, 0};
  if (!super_.group_checksums()) return table;
  table.unused = d.itable_unused;
  table.inode_uninit = (d.flags & EXT2_BG_INODE_UNINIT) != 0;
  table.block_uninit = (d.flags & EXT2_BG_BLOCK_UNINIT) != 0;
  table.zeroed = (d.flags & EXT2_BG_INODE_ZEROED) != 0;
  const std::uint64_t inodes = super_.inodes_per_group;
  const std::uint64_t used =
      table.inode_uninit ? 0 : (inodes - std::min<std::uint64_t>(inodes, table.unused));
  const std::uint64_t used_bytes = (used * super_.inode_size + size - 1) / size * size;
  table.unused_part = {table.whole.offset + used_bytes, table.whole.length - used_bytes};
  return table;
}

std::vector<ByteRange> Ext4Tables::metadata() const {
  const std::uint64_t size = super_.block_size();
  std::vector<ByteRange> all;
  for (const GroupBlocks& blocks : metadata_blocks(super_, descriptors_))
    all.push_back({blocks.first * size, (blocks.end() - blocks.first) * size});
  return all;
}

FileSystem Ext4Tables::file_system() const {
  FileSystem fs;
  fs.label = image::text_of(super_.raw.s_volume_name);
  fs.uuid = image::uuid_text(super_.raw);
  fs.blocks = super_.blocks_count;
  fs.block_size = super_.block_size();
  fs.inode_size = super_.inode_size;
  fs.inodes_per_group = super_.inodes_per_group;
  fs.groups = super_.groups;
  if (super_.metadata_csum())
    fs.checksums = FileSystem::Checksums::metadata_csum;
  else if (super_.group_checksums())
    fs.checksums = FileSystem::Checksums::uninit_bg;
  fs.needs_recovery = super_.has_incompat(EXT3_FEATURE_INCOMPAT_RECOVER);
  fs.at_rest = super_.check_at_rest({}).ok();
  return fs;
}

void Ext4Tables::set_zeroed(std::uint32_t group, bool zeroed) {
  if (!has_group_checksums()) return;
  const std::lock_guard lock(mutex_);
  const std::uint16_t flags = descriptors_.get(group).flags;
  descriptors_.set_flags(group, static_cast<std::uint16_t>(zeroed ? flags | EXT2_BG_INODE_ZEROED
                                                                  : flags & ~EXT2_BG_INODE_ZEROED));
  tables_[group].zeroed = zeroed;
}

void Ext4Tables::set_group(std::uint32_t group, std::uint16_t flags, std::uint32_t unused) {
  const std::lock_guard lock(mutex_);
  descriptors_.set_flags(group, flags);
  descriptors_.set_itable_unused(group, unused);
  tables_[group] = make_table(group);
}

Status Ext4Tables::flush() {
  const std::lock_guard lock(mutex_);
  E4R_CHECK(descriptors_.write(target_, copies_));
  if (!super_changed_) return {};
  E4R_CHECK(super_.write(target_));
  super_changed_ = false;
  return {};
}

std::string Ext4Tables::mount_options() const {
  return image::text_of(super_.raw.s_mount_opts);
}

Status Ext4Tables::set_mount_options(const std::string& text) {
  if (text.size() > kMountOptionsMax)
    return error("'{}' is too long: mount options in a superblock have at most {} bytes", text,
                 kMountOptionsMax);
  std::memset(super_.raw.s_mount_opts, 0, sizeof super_.raw.s_mount_opts);
  std::memcpy(super_.raw.s_mount_opts, text.data(), text.size());
  super_changed_ = true;
  return {};
}

}  // namespace e4r::lazyinit
