// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/hostile_tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <memory>

#include "lazyinit/ext4_tables.h"
#include "lazyinit/features.h"
#include "lazyinit/kernel_thread.h"
#include "lazyinit/layered_targets.h"
#include "lazyinit/memory_target.h"
#include "lazyinit/superblock.h"
#include "lazyinit/verify.h"
#include "lazyinit/zeroer.h"
#include "support/draw.h"
#include "support/lazy_images.h"
#include "support/temp_dir.h"
#include "util/bytes.h"

namespace e4r::test {
namespace {

using lazyinit::ByteRange;
using lazyinit::Descriptor;
using lazyinit::Descriptors;
using lazyinit::Superblock;
using lazyinit::Table;
using lazyinit::Tables;
using lazyinit::Target;

constexpr std::uint64_t kSuper = 1024;
constexpr std::uint64_t kSuperBytes = 1024;

Shape small(const char* name, const std::string& features, std::vector<std::string> more = {}) {
  std::vector<std::string> options = {"-t", "ext4", "-b", "1024", "-g", "256", "-N", "192"};
  options.insert(options.end(), {"-O", "^has_journal,^resize_inode" + features});
  options.insert(options.end(), more.begin(), more.end());
  return {name, 640u << 10, options};
}

std::vector<Shape> small_shapes() {
  return {small("metadata_csum", ""),
          small("uninit_bg", ",^metadata_csum,uninit_bg,^64bit"),
          small("uninit_bg_no_flex", ",^metadata_csum,uninit_bg,^flex_bg", {"-I", "128"}),
          small("no_checksums", ",^metadata_csum,^uninit_bg"),
          small("meta_bg", ",^metadata_csum,uninit_bg,meta_bg"),
          small("sparse_super2", ",^metadata_csum,uninit_bg,sparse_super2"),
          small("big_inodes", ",^metadata_csum,uninit_bg", {"-I", "1024", "-N", "48"})};
}

// The positions of structures on an undamaged disk.
struct Places {
  explicit Places(Disk& disk) {
    MemoryTarget target(disk);
    super = *Superblock::read(target);
    const Descriptors all = *Descriptors::read(target, super);
    for (std::uint32_t group = 0; group < super.groups; ++group) groups.push_back(all.get(group));
  }
  [[nodiscard]] std::uint64_t descriptor(std::uint32_t group) const {
    return super.descriptor_block(group / super.descs_per_block) * super.block_size() +
           std::uint64_t{group % super.descs_per_block} * super.desc_size;
  }
  Superblock super;
  std::vector<Descriptor> groups;
};

// A field to overwrite. Plausible values are below `limit`.
struct Spot {
  std::uint64_t offset = 0;
  std::uint32_t limit = 256;
};

Spot draw_spot(const Places& places, std::uint64_t size, Draw& draw) {
  const std::uint32_t group = draw.below(places.super.groups);
  const Descriptor& d = places.groups[group];
  const std::uint64_t block = places.super.block_size();
  switch (draw.below(8)) {
    case 0:
    case 1:
      return {kSuper + draw.below(kSuperBytes), 600};
    case 2:
    case 3:
    case 4:
      return {places.descriptor(group) + draw.below(places.super.desc_size), 1100};
    case 5:
      return {d.inode_bitmap * block + draw.below(16)};
    case 6:
      return {d.inode_table * block + draw.below(places.super.itable_blocks * 1024)};
    default:
      return {draw.below(65536) * size / 65536};
  }
}

void damage(Disk& disk, Draw& draw) {
  const Places places(disk);
  for (std::uint32_t count = draw.below(8); count > 0; --count) {
    const Spot spot = draw_spot(places, disk.size(), draw);
    const std::uint32_t how = draw.below(6);
    if (how < 2) {
      disk[spot.offset] ^= std::byte{1} << draw.below(8);
      continue;
    }
    const std::size_t width = std::size_t{1} << (how - 2);
    const std::uint64_t number = draw.odd(spot.limit);
    if (spot.offset + width <= disk.size()) std::memcpy(&disk[spot.offset], &number, width);
  }
}

// Sets correct checksums of the superblock and of the descriptors.
void repair_checksums(Disk& disk) {
  constexpr std::size_t kChecksum = offsetof(ext2_super_block, s_checksum);
  const std::uint32_t crc = crc32c(~0u, std::span(disk).subspan(kSuper, kChecksum));
  std::memcpy(&disk[kSuper + kChecksum], &crc, sizeof crc);
  MemoryTarget target(disk);
  const auto super = Superblock::read(target);
  if (!super.ok() || !super->group_checksums()) return;
  auto all = Descriptors::read(target, *super);
  if (!all.ok()) return;
  for (std::uint32_t group = 0; group < super->groups; ++group) all->recompute_checksum(group);
  (void)all->write(target);
}

}  // namespace

enum class TableCommand : std::uint8_t { look, finish, verify, rearm, set, enable, disable };

namespace {

constexpr std::uint32_t kCommands = 7;

std::vector<std::uint32_t> all_groups(const Tables& tables) {
  std::vector<std::uint32_t> groups;
  for (const Table& table : tables.tables()) groups.push_back(table.group);
  return groups;
}

Status look(Target& target) {
  E4R_TRY(const auto tables, Tables::open(target, Target::Access::read));
  const auto inventory = lazyinit::take_inventory(tables->tables());
  (void)lazyinit::estimate(inventory, 10, {});
  (void)lazyinit::runs_of_groups(tables->tables());
  (void)lazyinit::map_of_groups(tables->tables(), 7);
  (void)tables->file_system();
  return lazyinit::verify_tables(target, *tables, tables->tables(), 1).ok()
             ? Status()
             : error("cannot verify");
}

Status zero(Target& target, Tables& tables, bool probe) {
  lazyinit::ZeroOptions how;
  how.probe = probe;
  return lazyinit::zero_tables(target, tables, all_groups(tables), how).ok() ? Status()
                                                                             : error("cannot zero");
}

Status take_back_lies(Target& target, Tables& tables) {
  E4R_TRY(const auto verified, lazyinit::verify_tables(target, tables, tables.tables(), 1));
  return lazyinit::retract(target, tables, lazyinit::groups_of(verified.lies));
}

Status enable(Target& target, bool probe) {
  E4R_CHECK(lazyinit::freshly_checked(target));
  E4R_CHECK(lazyinit::inode_bitmaps_agree(target));
  E4R_CHECK(lazyinit::add_group_checksums(target));
  E4R_TRY([[maybe_unused]] const auto enabled, lazyinit::record_unused(target, probe));
  return {};
}

Status disable(Target& target, Tables& tables) {
  const bool metadata_csum =
      tables.file_system().checksums == lazyinit::FileSystem::Checksums::metadata_csum;
  if (metadata_csum) E4R_CHECK(lazyinit::freshly_checked(target));
  E4R_CHECK(lazyinit::bitmaps_readable(target));
  E4R_CHECK(take_back_lies(target, tables));
  E4R_CHECK(zero(target, tables, true));
  E4R_TRY([[maybe_unused]] const auto slack, lazyinit::zero_slack(target, tables));
  E4R_CHECK(lazyinit::write_out_groups(target));
  if (metadata_csum) return {};  // tune2fs makes the other changes
  return lazyinit::drop_group_checksums(target);
}

Status set(Target& target, Tables& tables) {
  E4R_TRY(const auto text,
          lazyinit::with_init_itable(tables.mount_options(),
                                     *lazyinit::parse_init_itable("init_itable=7")));
  E4R_CHECK(tables.set_mount_options(text));
  E4R_CHECK(tables.flush());
  return target.sync();
}

Status rearm(Target& target, Tables& tables) {
  return lazyinit::retract(target, tables, all_groups(tables));
}

// Runs the steps of a tune2fs-lazy command.
Status run(TableCommand command, Target& target, bool probe) {
  if (command == TableCommand::look) return look(target);
  E4R_TRY(const auto tables, Tables::open(target, Target::Access::write));
  if (command == TableCommand::enable) return enable(target, probe);
  if (command == TableCommand::set) return set(target, *tables);
  if (!tables->has_group_checksums()) return error("nothing in it is lazy");
  switch (command) {
    case TableCommand::finish:
      return zero(target, *tables, probe);
    case TableCommand::verify:
      return take_back_lies(target, *tables);
    case TableCommand::rearm:
      return rearm(target, *tables);
    default:
      return disable(target, *tables);
  }
}

// Returns the ranges that a command may change. `before` is the disk before the command.
std::vector<ByteRange> may_change(TableCommand command, Target& before) {
  std::vector<ByteRange> all = {{kSuper, kSuperBytes}};
  const Superblock super = *Superblock::read(before);
  for (std::uint32_t index = 0; index < super.desc_blocks; ++index)
    all.push_back({super.descriptor_block(index) * super.block_size(), super.block_size()});
  if (command == TableCommand::verify || command == TableCommand::rearm) {
    const Descriptors descriptors = *Descriptors::read(before, super);
    for (const Descriptors::Copy& copy : descriptors.find_copies(before))
      all.push_back(
          {copy.block * super.block_size(), std::uint64_t{copy.count} * super.block_size()});
  }
  if (command != TableCommand::finish) return all;
  const auto tables = *Tables::open(before, Target::Access::read);
  for (const Table& table : tables->tables()) all.push_back(table.unused_part);
  return all;
}

// Returns the ranges that a command must not change: inodes in use and, except for `disable`, the
// inode bitmaps.
std::vector<ByteRange> must_stay(TableCommand command, Target& before) {
  std::vector<ByteRange> all;
  const Superblock super = *Superblock::read(before);
  const Descriptors descriptors = *Descriptors::read(before, super);
  const auto tables = *Tables::open(before, Target::Access::read);
  for (const Table& table : tables->tables()) {
    const std::uint64_t unused =
        table.inode_uninit ? tables->inodes_per_group() : std::uint64_t{table.unused};
    const std::uint64_t used = (tables->inodes_per_group() - unused) * tables->inode_size();
    all.push_back({table.whole.offset, used});
    if (command != TableCommand::disable)
      all.push_back({descriptors.get(table.group).inode_bitmap * super.block_size(), 16});
  }
  return all;
}

bool same(const Disk& a, const Disk& b, const ByteRange& range) {
  const std::uint64_t end = std::min<std::uint64_t>(range.offset + range.length, a.size());
  return range.offset >= end ||
         std::memcmp(&a[range.offset], &b[range.offset], end - range.offset) == 0;
}

// Returns the gaps between the ranges, and the gap after the last one.
std::vector<ByteRange> gaps(std::vector<ByteRange> ranges, std::uint64_t size) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> out;
  std::uint64_t at = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset > at) out.push_back({at, range.offset - at});
    at = std::max(at, range.offset + range.length);
  }
  if (at < size) out.push_back({at, size - at});
  return out;
}

// Ranges that a command must not change, computed before it runs.
struct Kept {
  std::vector<ByteRange> inodes;  // inodes in use, and their bitmaps
  std::vector<ByteRange> others;  // everything outside the command's purpose

  Kept(TableCommand command, Target& target) {
    if (!Tables::open(target, Target::Access::read).ok()) return;
    inodes = must_stay(command, target);
    if (command != TableCommand::enable && command != TableCommand::disable)
      others = gaps(may_change(command, target), target.size());
  }
  [[nodiscard]] std::string judge(const Disk& before, const Disk& after) const {
    for (const ByteRange& range : inodes)
      if (!same(before, after, range))
        return fmt::format("inodes in use or their bitmap changed at {}", range.offset);
    for (const ByteRange& range : others)
      if (!same(before, after, range))
        return fmt::format("wrote what is none of its business behind {}", range.offset);
    return {};
  }
};

// Checks that a command that reports success has done its work. Returns the fault, or "".
std::string judge_end(TableCommand command, Target& target) {
  const auto tables = Tables::open(target, Target::Access::write);
  if (!tables.ok()) return "can no longer be opened: " + tables.error().message;
  const auto inventory = lazyinit::take_inventory((*tables)->tables());
  if (command == TableCommand::finish && inventory.zeroed != inventory.groups)
    return "groups are left after finish";
  if (command == TableCommand::rearm && inventory.zeroed != 0) return "groups are left after rearm";
  if (command == TableCommand::enable && !(*tables)->has_group_checksums())
    return "no checksums after enable";
  if (command == TableCommand::disable &&
      (inventory.unused_inodes != 0 || inventory.inode_uninit != 0))
    return "unused inodes are left after disable";
  if (command != TableCommand::finish && command != TableCommand::verify) return {};
  const auto verified = lazyinit::verify_tables(target, **tables, (*tables)->tables(), 1);
  if (!verified.ok()) return "can no longer be verified";
  if (command == TableCommand::verify && !verified->lies.empty())
    return "lies are left after verify";
  return {};
}

}  // namespace

struct HostileTables::Drawn {
  explicit Drawn(std::uint8_t byte)
      : command(static_cast<TableCommand>(byte % kCommands)),
        probe((byte & 64) != 0),
        dry_first(byte >= 128) {}
  TableCommand command;
  bool probe;
  bool dry_first;
};

std::string HostileTables::run_and_judge(const Drawn& drawn) {
  after_ = disk_;
  MemoryTarget target(after_);
  const Kept kept(drawn.command, target);
  const Status status = run(drawn.command, target, drawn.probe);
  if (!status.ok()) {
    const std::string& message = status.error().message;
    if (message.find('\n') != std::string::npos) return "an error of several lines: " + message;
    const bool wrote = target.changes() != 0 && !same(after_, disk_, {0, disk_.size()});
    return wrote ? "refused, and written all the same: " + message : "";
  }
  ++done_;
  if (target.changes() == 0) return {};
  std::string problem = kept.judge(disk_, after_);
  if (problem.empty()) problem = judge_end(drawn.command, target);
  disk_ = after_;
  return problem;
}

// Checks a dry run: the disk must stay unchanged, and the overlay must show the same result as the
// real run.
std::string HostileTables::dry_run(const Drawn& drawn) {
  const std::time_t started = std::time(nullptr);
  after_ = disk_;
  auto below = std::make_unique<MemoryTarget>(after_);
  const MemoryTarget& untouched = *below;
  lazyinit::ScratchTarget scratch(std::move(below));
  const Status dry = run(drawn.command, scratch, drawn.probe);
  if (untouched.changes() != 0) return "a dry run wrote";
  seen_.resize(disk_.size());
  if (!scratch.read(0, seen_).ok()) return "a dry run cannot be read";
  MemoryTarget target(after_);
  if (run(drawn.command, target, drawn.probe).ok() != dry.ok())
    return "a dry run ended otherwise than the run";
  // libext2fs writes the current second to the superblock, so compare only within one second.
  if (!dry.ok() || std::time(nullptr) != started) return {};
  return same(seen_, after_, {0, after_.size()}) ? "" : "a dry run would leave another disk";
}

HostileTables::HostileTables() {
  const TempDir dir;
  for (const Shape& shape : small_shapes()) {
    const std::string path = dir.file(shape.name);
    make_lazy_image(path, shape, 1000);
    fill_unused(path, FillFrom::first_unused_block);
    disks_.push_back(load(path));
  }
}

std::string HostileTables::judge(std::span<const std::uint8_t> bytes) {
  Draw draw(bytes);
  disk_ = disks_[draw.below(static_cast<std::uint32_t>(disks_.size()))];
  std::array<std::uint8_t, 4> commands = {};
  for (std::uint8_t& command : commands) command = draw.byte();
  const bool damaged_checksums = draw.one_in(16);
  damage(disk_, draw);
  if (!damaged_checksums) repair_checksums(disk_);
  for (const std::uint8_t byte : commands) {
    const Drawn drawn(byte);
    std::string problem = drawn.dry_first ? dry_run(drawn) : std::string();
    if (problem.empty()) problem = run_and_judge(drawn);
    if (!problem.empty())
      return fmt::format("command {}: {}", static_cast<int>(drawn.command), problem);
  }
  return {};
}

}  // namespace e4r::test
