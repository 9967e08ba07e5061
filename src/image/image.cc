// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/image.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "image/bitmaps.h"
#include "image/ext2_handle.h"
#include "image/files.h"
#include "image/input_file.h"
#include "image/superblock.h"
#include "util/parallel.h"

namespace e4r::image {

std::string_view describe(GroupFault fault) {
  switch (fault) {
    case GroupFault::none:
      return "nothing is wrong";
    case GroupFault::descriptor_range:
      return "its descriptor points outside the file system";
    case GroupFault::descriptor_checksum:
      return "its descriptor's checksum is wrong";
    case GroupFault::group_zero_uninit:
      return "group 0 is marked uninitialised";
    case GroupFault::bitmap_read:
      return "its block bitmap cannot be read";
    case GroupFault::bitmap_checksum:
      return "its block bitmap's checksum is wrong";
    case GroupFault::bitmap_metadata:
      return "its block bitmap marks its own metadata as free";
    case GroupFault::bitmap_padding:
      return "its block bitmap is not padded with ones";
  }
  return "unknown fault";
}

namespace {

// Bytes of bitmaps in one piece of a scan: large enough to keep a thread busy, and small enough
// that all threads get pieces.
constexpr std::uint64_t kPieceBytes = 2u << 20;

GroupNumber groups_per_piece(const Geometry& geometry) {
  return static_cast<GroupNumber>(std::max<std::uint64_t>(1, kPieceBytes / geometry.block_size()));
}

}  // namespace

struct Image::Impl {
  Impl(InputFile input, Ext2Handle handle, const OpenOptions& chosen)
      : file(std::move(input)),
        fs(std::move(handle)),
        options(chosen),
        superblock(read_superblock(fs.get())),
        groups(read_groups(fs.get(), superblock)),
        layout(superblock, groups, fs.get()) {}

  InputFile file;
  Ext2Handle fs;
  std::mutex fs_mutex;  // libext2fs keeps caches, so it is not thread-safe
  OpenOptions options;
  SuperblockInfo superblock;
  std::vector<GroupInfo> groups;
  Layout layout;
  std::unique_ptr<std::uint64_t[]> words;  // all bitmaps; null if not loaded
  std::vector<std::string> warnings;
  bool bad_groups_reported = false;

  void warn_about_state();
  Status report_bad_groups();
  Status load();
  Status claim_metadata();
  Status scan(const BitmapVisitor& visit);
  [[nodiscard]] Error locate(const Error& cause) const {
    return error("{}: {}", file.path(), cause.message);
  }
};

void Image::Impl::warn_about_state() {
  const std::string& path = file.path();
  if (superblock.needs_recovery)
    warnings.push_back(
        fmt::format("{}: the journal holds changes that are not applied, so the data may be out of "
                    "date; apply them to a copy with `e2fsck -fy {}`",
                    path, path));
  if (superblock.errors)
    warnings.push_back(
        fmt::format("{}: the kernel has recorded errors in this file system; check a copy with "
                    "`e2fsck -fy {}`",
                    path, path));
  int mounted = 0;
  if (ext2fs_check_if_mounted(path.c_str(), &mounted) == 0 && (mounted & EXT2_MF_MOUNTED) &&
      !(mounted & EXT2_MF_READONLY))
    warnings.push_back(fmt::format(
        "{}: is mounted, so the data may be out of date; unmount it or give a snapshot", path));
}

// Called once the descriptors have been checked (only with `strict`) and whenever all bitmaps have
// been checked. With `strict`, bad groups are an Error. Otherwise a warning reports them once per
// image.
Status Image::Impl::report_bad_groups() {
  const auto bad = [](const GroupInfo& info) { return info.bad(); };
  const auto first = std::find_if(groups.begin(), groups.end(), bad);
  if (first == groups.end()) return {};
  const auto group = first - groups.begin();
  const auto others = std::count_if(first, groups.end(), bad) - 1;
  const std::string more = others == 0 ? "" : fmt::format(" (and {} more bad groups)", others);
  if (options.strict)
    return error("{}: group {}: {}{}; check a copy with `e2fsck -fn {}`", file.path(), group,
                 describe(first->fault), more, file.path());
  if (!bad_groups_reported)
    warnings.push_back(
        fmt::format("{}: group {}: {}{}; no block of it counts as free, check a "
                    "copy with `e2fsck -fn {}`",
                    file.path(), group, describe(first->fault), more, file.path()));
  bad_groups_reported = true;
  return {};
}

Status Image::Impl::scan(const BitmapVisitor& visit) {
  const GroupNumber step = groups_per_piece(superblock);
  const std::size_t pieces = (superblock.groups + std::size_t{step} - 1) / step;
  parallel_for(thread_count(options.threads), pieces, [&](std::size_t piece) {
    const GroupNumber first = static_cast<GroupNumber>(piece) * step;
    const GroupNumber count = std::min(step, superblock.groups - first);
    BitmapReader({file, superblock, layout, groups, fs.get()})
        .read(first, first + count, [&](GroupNumber group, std::span<const std::uint64_t> bits) {
          visit(static_cast<unsigned>(piece), group, bits);
        });
  });
  return report_bad_groups();
}

Status Image::Impl::load() {
  const std::size_t size = superblock.words_per_group();
  words = std::make_unique_for_overwrite<std::uint64_t[]>(size * superblock.groups);
  E4R_CHECK(scan([&](unsigned, GroupNumber group, std::span<const std::uint64_t> bits) {
    std::copy(bits.begin(), bits.end(), words.get() + size * group);
  }));
  return claim_metadata();
}

// Marks all metadata as in use. With flex_bg, the kernel does not check whether the bitmaps mark
// it, but an allocation that overlaps metadata fails (ext4_mb_mark_diskspace_used(), which calls
// ext4_inode_block_valid()).
Status Image::Impl::claim_metadata() {
  const std::size_t size = superblock.words_per_group();
  std::uint64_t all = 0;
  GroupNumber where = 0;
  for (const BlockRange& range : layout.ranges()) {
    const GroupNumber last = superblock.group_of(range.end() - 1);
    for (GroupNumber group = superblock.group_of(range.first); group <= last; ++group) {
      const ClusterRange bits = clusters_in_group(superblock, group, range);
      const auto clear = set_bits({words.get() + size * group, size}, bits.first, bits.count);
      if (clear > 0 && all == 0) where = group;
      groups[group].free_metadata += static_cast<std::uint32_t>(clear);
      all += clear;
    }
  }
  if (all == 0) return {};
  const std::string what =
      fmt::format("{}: group {}: its block bitmap marks metadata as free ({} clusters in total)",
                  file.path(), where, all);
  if (options.strict) return error("{}; check a copy with `e2fsck -fn {}`", what, file.path());
  warnings.push_back(
      fmt::format("{}; it counts as in use, check a copy with `e2fsck -fn {}`", what, file.path()));
  return {};
}

Image::Image(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Image::Image(Image&&) noexcept = default;
Image& Image::operator=(Image&&) noexcept = default;
Image::~Image() = default;

Result<Image> Image::open(const std::string& path, const OpenOptions& options) {
  E4R_TRY(InputFile file, InputFile::open(path, options.name));
  E4R_CHECK(check_superblock(file));
  E4R_TRY(Ext2Handle fs, open_ext2(file));
  Image image(std::make_unique<Impl>(std::move(file), std::move(fs), options));
  Impl& impl = *image.impl_;
  impl.warn_about_state();
  if (options.strict) E4R_CHECK(impl.report_bad_groups());
  if (options.load_bitmaps) E4R_CHECK(impl.load());
  return image;
}

const std::string& Image::path() const {
  return impl_->file.path();
}
const SuperblockInfo& Image::superblock() const {
  return impl_->superblock;
}
std::span<const GroupInfo> Image::groups() const {
  return impl_->groups;
}
const std::vector<std::string>& Image::warnings() const {
  return impl_->warnings;
}

std::vector<GroupNumber> Image::bad_groups() const {
  std::vector<GroupNumber> bad;
  for (GroupNumber group = 0; group < impl_->superblock.groups; ++group)
    if (impl_->groups[group].bad()) bad.push_back(group);
  return bad;
}

std::span<const std::uint64_t> Image::bitmap(GroupNumber group) const {
  if (!impl_->words) return {};
  const std::size_t size = impl_->superblock.words_per_group();
  return {impl_->words.get() + size * group, size};
}

unsigned Image::scan_pieces() const {
  const GroupNumber step = groups_per_piece(impl_->superblock);
  return (impl_->superblock.groups - 1) / step + 1;
}

Status Image::scan_bitmaps(const BitmapVisitor& visit) {
  return impl_->scan(visit);
}

std::vector<BlockRange> Image::metadata() const {
  return impl_->layout.ranges();
}

std::vector<BlockRange> Image::bookkeeping() const {
  return impl_->layout.bookkeeping();
}

Result<InodeInfo> Image::inode(std::uint32_t ino) const {
  const std::lock_guard lock(impl_->fs_mutex);
  auto info = read_inode(impl_->fs.get(), ino);
  if (!info.ok()) return impl_->locate(info.error());
  return info;
}

Result<std::vector<MappedExtent>> Image::file_extents(std::uint32_t ino, std::size_t limit) const {
  const std::lock_guard lock(impl_->fs_mutex);
  auto extents = read_extents(impl_->fs.get(), ino, limit);
  if (!extents.ok()) return impl_->locate(extents.error());
  return extents;
}

FoundPaths Image::paths(const std::set<std::uint64_t>& inodes) const {
  const std::lock_guard lock(impl_->fs_mutex);
  return find_paths(impl_->fs.get(), inodes);
}

}  // namespace e4r::image
