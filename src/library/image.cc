// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/image.h>

#include "library/data.h"
#include "replay/load.h"
#include "report/free_space.h"
#include "stats/layout.h"

namespace e4replay {

FreeExtents public_extents(const e4r::stats::FreeExtents& extents) {
  static_assert(FreeExtents::kBuckets == e4r::stats::FreeExtents::kBuckets);
  FreeExtents out;
  out.chunk_blocks = std::uint64_t{1} << extents.chunk_bits;
  out.count = extents.count;
  out.blocks = extents.blocks;
  out.min = extents.min;
  out.max = extents.max;
  out.free_chunks = extents.free_chunks;
  for (std::size_t i = 0; i < FreeExtents::kBuckets; ++i)
    out.buckets[i] = {extents.buckets[i].extents, extents.buckets[i].blocks};
  return out;
}

FileSystem public_file_system(const e4r::image::SuperblockInfo& superblock) {
  FileSystem out;
  out.block_size = superblock.block_size();
  out.blocks = superblock.blocks_count;
  out.free_blocks = superblock.free_blocks_count;
  out.first_block = superblock.first_data_block;
  out.groups = superblock.groups;
  out.blocks_per_group = superblock.blocks_per_group;
  out.clusters_per_group = superblock.clusters_per_group;
  out.blocks_per_cluster = 1u << superblock.cluster_bits;
  out.inodes_per_group = superblock.inodes_per_group;
  out.label = superblock.label;
  out.uuid = superblock.uuid;
  return out;
}

Image::Image(std::shared_ptr<Data> data) : data_(std::move(data)) {}
Image::Image(const Image&) = default;
Image::Image(Image&&) noexcept = default;
Image& Image::operator=(const Image&) = default;
Image& Image::operator=(Image&&) noexcept = default;
Image::~Image() = default;

Result<Image> Image::open(const std::string& path, const ImageOptions& options) {
  e4r::image::OpenOptions open;
  open.strict = options.strict;
  open.threads = options.threads;
  open.load_bitmaps = options.bitmaps;
  E4R_TRY(e4r::app::OpenedImage opened, e4r::app::open_image(path, open));
  auto data = std::make_shared<Data>();
  data->opened.emplace(std::move(opened));
  data->image = &data->opened->image;
  data->path = data->opened->path;
  data->name = path;
  data->file_system = public_file_system(data->image->superblock());
  if (options.bitmaps) {
    data->source = &data->own_source.emplace(e4r::replay::source_from(*data->image));
    data->tunables = e4r::allocator::defaults_for(data->source->geometry);
  }
  return Image(std::move(data));
}

const FileSystem& Image::file_system() const {
  return data_->file_system;
}

std::vector<std::string> Image::warnings() const {
  const std::lock_guard lock(data_->scanning);
  return data_->image->warnings();
}

Result<Group> Image::group(std::uint32_t number) const {
  const auto groups = data_->image->groups();
  if (number >= groups.size())
    return e4r::error("{}: has no group {}: it has {}", data_->name, number, groups.size());
  const std::lock_guard lock(data_->scanning);
  const e4r::image::GroupInfo& info = groups[number];
  Group out;
  out.first_block = info.first_block;
  out.blocks = info.blocks;
  out.clusters = info.clusters;
  out.free_clusters = info.free_clusters;
  out.free_inodes = info.free_inodes;
  if (info.bad()) out.fault = e4r::image::describe(info.fault);
  return out;
}

std::span<const std::uint64_t> Image::bitmap(std::uint32_t number) const {
  if (data_->source == nullptr || number >= data_->source->groups.size()) return {};
  return data_->source->groups[number].words;
}

Result<FreeExtents> Image::free_extents(std::uint64_t chunk_kb) const {
  E4R_TRY(const std::uint32_t bits,
          e4r::report::chunk_bits(chunk_kb, data_->file_system.block_size));
  if (data_->source != nullptr)
    return public_extents(e4r::stats::source_free(*data_->source, bits).extents);
  const std::lock_guard lock(data_->scanning);
  E4R_TRY(const e4r::report::FreeSpaceReport free,
          e4r::report::measure_free_space(data_->opened->image, bits, false));
  return public_extents(free.extents);
}

}  // namespace e4replay
