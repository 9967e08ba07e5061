// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/target_io.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace e4r::lazyinit {
namespace {

struct Lent {
  Target* target = nullptr;
  std::string last_error;
  Zeroed last_zeroed;
};

// libext2fs opens targets by name, so this registry maps names to targets.
std::mutex registry_mutex;
std::map<std::string, Lent>& registry() {
  static std::map<std::string, Lent> all;
  return all;
}

Lent* find(const std::string& name) {
  const std::lock_guard lock(registry_mutex);
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : &found->second;
}

Lent& lent_of(io_channel channel) {
  return *static_cast<Lent*>(channel->private_data);
}

errcode_t report(io_channel channel, const Status& status, errcode_t code) {
  if (status.ok()) return 0;
  lent_of(channel).last_error = status.error().message;
  return code;
}

// A negative `count` is a number of bytes.
std::size_t length_of(io_channel channel, int count) {
  return count < 0
             ? static_cast<std::size_t>(-static_cast<long>(count))
             : static_cast<std::size_t>(count) * static_cast<std::size_t>(channel->block_size);
}

std::uint64_t offset_of(io_channel channel, unsigned long long block) {
  return block * static_cast<std::uint64_t>(channel->block_size);
}

// The undo manager opens its own file through this manager. A name that is not in the registry is a
// path.
errcode_t open_channel(const char* name, int flags, io_channel* out) {
  Lent* found = find(name);
  if (found == nullptr) return unix_io_manager->open(name, flags, out);
  auto channel = std::make_unique<struct_io_channel>();
  std::memset(channel.get(), 0, sizeof *channel);
  channel->magic = EXT2_ET_MAGIC_IO_CHANNEL;
  channel->manager = TargetIo::manager();
  channel->name = ::strdup(name);
  channel->block_size = 1024;
  channel->refcount = 1;
  channel->private_data = found;
  if (found->target->is_block_device()) channel->flags |= CHANNEL_FLAGS_BLOCK_DEVICE;
  *out = channel.release();
  return 0;
}

errcode_t close_channel(io_channel channel) {
  if (--channel->refcount > 0) return 0;
  std::free(channel->name);  // NOLINT(cppcoreguidelines-no-malloc): strdup above
  delete channel;
  return 0;
}

errcode_t set_block_size(io_channel channel, int size) {
  channel->block_size = size;
  return 0;
}

errcode_t read_blocks(io_channel channel, unsigned long long block, int count, void* data) {
  return report(
      channel,
      lent_of(channel).target->read(offset_of(channel, block),
                                    {static_cast<std::byte*>(data), length_of(channel, count)}),
      EXT2_ET_SHORT_READ);
}

errcode_t write_blocks(io_channel channel, unsigned long long block, int count, const void* data) {
  return report(channel,
                lent_of(channel).target->write(
                    offset_of(channel, block),
                    {static_cast<const std::byte*>(data), length_of(channel, count)}),
                EXT2_ET_SHORT_WRITE);
}

errcode_t read_blocks32(io_channel channel, unsigned long block, int count, void* data) {
  return read_blocks(channel, block, count, data);
}

errcode_t write_blocks32(io_channel channel, unsigned long block, int count, const void* data) {
  return write_blocks(channel, block, count, data);
}

errcode_t write_bytes(io_channel channel, unsigned long offset, int count, const void* data) {
  return report(channel,
                lent_of(channel).target->write(
                    offset, {static_cast<const std::byte*>(data), static_cast<std::size_t>(count)}),
                EXT2_ET_SHORT_WRITE);
}

errcode_t flush_channel(io_channel channel) {
  return report(channel, lent_of(channel).target->sync(), EXT2_ET_SHORT_WRITE);
}

errcode_t zero_blocks(io_channel channel, unsigned long long block, unsigned long long count) {
  const auto zeroed =
      lent_of(channel).target->zero(offset_of(channel, block), offset_of(channel, count));
  if (!zeroed.ok()) return report(channel, zeroed.error(), EXT2_ET_SHORT_WRITE);
  lent_of(channel).last_zeroed = *zeroed;
  return 0;
}

errcode_t no_option(io_channel /*channel*/, const char* /*option*/, const char* /*argument*/) {
  return 0;
}

struct_io_manager make_manager() {
  struct_io_manager m = {};
  m.magic = EXT2_ET_MAGIC_IO_MANAGER;
  m.name = "e4replay target";
  m.open = open_channel;
  m.close = close_channel;
  m.set_blksize = set_block_size;
  m.read_blk = read_blocks32;
  m.write_blk = write_blocks32;
  m.flush = flush_channel;
  m.write_byte = write_bytes;
  m.set_option = no_option;
  m.read_blk64 = read_blocks;
  m.write_blk64 = write_blocks;
  m.zeroout = zero_blocks;
  return m;
}

}  // namespace

TargetIo::TargetIo(Target& target) {
  static int number = 0;
  const std::lock_guard lock(registry_mutex);
  name_ = fmt::format("e4replay target {}", ++number);  // the name must not contain '?', after
                                                        // which libext2fs expects options
  registry()[name_] = {&target, {}, {}};
}

TargetIo::~TargetIo() {
  const std::lock_guard lock(registry_mutex);
  registry().erase(name_);
}

io_manager TargetIo::manager() {
  static struct_io_manager manager = make_manager();
  return &manager;
}

std::string TargetIo::last_error() const {
  const Lent* found = find(name_);
  return found == nullptr ? "" : found->last_error;
}

Zeroed TargetIo::last_zeroed() const {
  const Lent* found = find(name_);
  return found == nullptr ? Zeroed{} : found->last_zeroed;
}

Result<std::unique_ptr<Ext2OverTarget>> Ext2OverTarget::open(Target& target) {
  std::unique_ptr<Ext2OverTarget> over(new Ext2OverTarget(target));
  ext2_filsys fs = nullptr;
  const errcode_t code = ext2fs_open2(over->io_.name().c_str(), nullptr,
                                      EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
                                      TargetIo::manager(), &fs);
  E4R_CHECK(over->check(code, "open it"));
  fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
  over->fs_.reset(fs);
  return over;
}

Status Ext2OverTarget::check(errcode_t code, const char* about) const {
  if (code == 0) return {};
  const std::string detail = io_.last_error();
  return error("{}: cannot {}: {}", target_.path(), about,
               detail.empty() ? image::ext2_text(code) : detail);
}

Status Ext2OverTarget::flush_all() {
  fs_->flags &= ~(EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_MASTER_SB_ONLY);
  ext2fs_mark_super_dirty(fs_.get());
  return check(ext2fs_flush(fs_.get()), "write the group descriptors");
}

Status Ext2OverTarget::flush_superblocks() {
  fs_->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
  fs_->flags |= EXT2_FLAG_SUPER_ONLY;
  ext2fs_mark_super_dirty(fs_.get());
  Status status = check(ext2fs_flush(fs_.get()), "write the superblock");
  fs_->flags &= ~EXT2_FLAG_SUPER_ONLY;
  return status;
}

}  // namespace e4r::lazyinit
