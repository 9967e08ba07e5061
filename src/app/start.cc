// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/start.h"

#include "app/ageing.h"
#include "capture/capture.h"
#include "replay/load.h"

namespace e4r::app {

Result<StartImage> open_start(const std::string& name, image::OpenOptions options,
                              const Listener& listener) {
  listener.progress.show("reading " + name);
  E4R_TRY(OpenedImage opened, open_image(name, std::move(options)));
  listener.progress.wipe();
  for (const std::string& warning : opened.image.warnings()) listener.warn(warning);
  E4R_CHECK(check_shape(opened.image, name));
  state::Source source = replay::source_from(opened.image);
  return StartImage{std::move(opened), std::move(source)};
}

Result<std::string> take_start_tunables(const std::string& file, const OpenedImage& opened,
                                        allocator::Tunables& tunables) {
  if (file.empty() && !opened.capture) return std::string();
  E4R_TRY(const auto found, noted(file, opened.capture ? &*opened.capture : nullptr,
                                  capture::text_name::kTunables, {}, "tunables"));
  if (!found) return std::string();
  E4R_CHECK(take_tunables(*found, tunables));
  return found->where;
}

Result<std::vector<std::uint32_t>> free_inodes(const image::Image& image, std::uint64_t most) {
  const image::SuperblockInfo& superblock = image.superblock();
  std::vector<std::uint32_t> out;
  for (std::uint32_t group = 0; group < image.groups().size(); ++group) {
    const image::GroupInfo& info = image.groups()[group];
    if (info.free_inodes == 0 || info.bad()) continue;
    const bool all_free = info.free_inodes == superblock.inodes_per_group;
    for (std::uint32_t i = 0; i < superblock.inodes_per_group && out.size() < most; ++i) {
      const std::uint64_t ino = std::uint64_t{group} * superblock.inodes_per_group + i + 1;
      if (ino < superblock.first_inode || ino > superblock.inodes_count) continue;
      if (!all_free) {
        E4R_TRY(const image::InodeInfo inode, image.inode(static_cast<std::uint32_t>(ino)));
        if (inode.links != 0) continue;
      }
      out.push_back(static_cast<std::uint32_t>(ino));
    }
  }
  return out;
}

std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& free,
                                  const image::SuperblockInfo& superblock,
                                  const Geometry& geometry) {
  const std::vector<std::uint32_t> order = spread_inodes(superblock, geometry);
  std::vector<bool> is_free(superblock.inodes_count + std::size_t{1});
  for (const std::uint32_t ino : free) is_free[ino] = true;
  std::vector<std::uint32_t> out;
  out.reserve(free.size());
  for (const std::uint32_t ino : order)
    if (is_free[ino]) out.push_back(ino);
  return out;
}

}  // namespace e4r::app
