// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/start_image.h"

#include <exception>

#include "replay/load.h"

namespace e4r::test::random {
namespace {

std::vector<std::string> mke2fs_options(const Shape& shape) {
  std::string features = "none,filetype,sparse_super,large_file";
  const auto add = [&](bool wanted, const char* name) {
    if (wanted) features += std::string(",") + name;
  };
  add(shape.extents, "extent");
  add(shape.flex > 0, "flex_bg");
  add(shape.checksums, "metadata_csum");
  add(shape.journal, "has_journal");
  add(shape.cluster_size > 0, "bigalloc");
  std::vector<std::string> out = {"-O", features,
                                  "-I", "256",
                                  "-b", std::to_string(shape.block_size),
                                  "-m", std::to_string(shape.reserved),
                                  "-N", std::to_string(std::uint64_t{shape.groups} * shape.inodes)};
  const auto option = [&](std::uint32_t value, const char* name, const char* before = "") {
    if (value == 0) return;
    out.emplace_back(name);
    out.push_back(before + std::to_string(value));
  };
  option(shape.cluster_size, "-C");
  option(shape.group_clusters, "-g");
  option(shape.flex, "-G");
  option(shape.stripe_width, "-E", "stripe_width=");
  option(shape.journal ? 1024 * shape.block_size >> 20 : 0, "-J", "size=");
  return out;
}

std::uint64_t bytes_of(const Shape& shape) {
  const std::uint64_t unit = shape.cluster_size > 0 ? shape.cluster_size : shape.block_size;
  const std::uint64_t clusters =
      shape.group_clusters > 0 ? shape.group_clusters : 8ull * shape.block_size;
  const std::uint64_t lacking = std::uint64_t{shape.short_by} * shape.block_size;
  const std::uint64_t all = shape.groups * clusters * unit;
  return all - std::min(lacking, all) + (shape.block_size == 1024 ? 1024 : 0);
}

}  // namespace

Result<std::unique_ptr<StartImage>> StartImage::make(const Shape& shape) {
  auto out = std::make_unique<StartImage>();
  try {
    make_image(out->path_, bytes_of(shape), mke2fs_options(shape));
    fill_image(out->path_, shape.fill);
  } catch (const std::exception& failed) {
    return error("{}", failed.what());
  }
  E4R_TRY(image::Image image, image::Image::open(out->path_));
  out->image_ = std::make_unique<image::Image>(std::move(image));
  out->source_ = replay::source_from(*out->image_);
  out->source_.geometry.data_writeback = shape.data_writeback && shape.journal;
  out->tunables_ = allocator::defaults_for(out->source_.geometry);
  for (const std::string& tunable : shape.tunables)
    E4R_CHECK(allocator::set_tunable(out->tunables_, tunable));
  return out;
}

}  // namespace e4r::test::random
