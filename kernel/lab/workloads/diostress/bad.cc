// SPDX-License-Identifier: GPL-2.0-only
#include "bad.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>

namespace dio {
namespace {

constexpr std::uint32_t kMostExtents = 1024;
constexpr std::uint32_t kMostSectors = 12;  // per place

struct Extent {
  std::uint32_t first, count;  // sectors of the file
  std::uint64_t place;         // sector of the disk
};

// Writes dirty data back, and returns the extents of the file. Leaves out the last block if the
// file covers only part of it, and all blocks beyond the end of the file, because these disappear
// when an extending write fails.
std::vector<Extent> extents_of(const Target& target) {
  std::vector<char> memory(sizeof(fiemap) + kMostExtents * sizeof(fiemap_extent), 0);
  auto* map = reinterpret_cast<fiemap*>(memory.data());
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_flags = FIEMAP_FLAG_SYNC;
  map->fm_extent_count = kMostExtents;
  lab::check(ioctl(target.buffered, FS_IOC_FIEMAP, map), target.path + ": fiemap");
  const std::uint32_t size = target.model->size();
  const std::uint64_t end = size - size % target.model->sectors_per_block();
  std::vector<Extent> extents;
  for (std::uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
    const fiemap_extent& from = map->fm_extents[i];
    const std::uint64_t first = from.fe_logical / kSector;
    if (first >= end || (from.fe_flags & ~(FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_UNWRITTEN |
                                           FIEMAP_EXTENT_MERGED)) != 0)
      continue;
    const std::uint64_t count = std::min<std::uint64_t>(from.fe_length / kSector, end - first);
    extents.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count),
                       from.fe_physical / kSector});
  }
  return extents;
}

}  // namespace

void BadSectors::choose(const Target& target, lab::Rng& rng) {
  const std::vector<Extent> extents = extents_of(target);
  std::vector<Range> bad;
  for (std::uint64_t i = extents.empty() ? 0 : rng.between(6, 16); i > 0; --i) {
    const Extent& extent = extents[rng.below(extents.size())];
    const auto apart = static_cast<std::uint32_t>(rng.below(extent.count));
    const auto wanted = static_cast<std::uint32_t>(rng.between(1, kMostSectors));
    const std::uint32_t count = std::min(wanted, extent.count - apart);
    const Range range{extent.first + apart, count};
    if (range.meets(target.model->for_mappings())) continue;
    bad.push_back(range);
    places_.push_back({extent.place + apart, extent.place + apart + count - 1});
    tell('+', places_.back());
  }
  target.model->set_bad(std::move(bad));
  models_.push_back(target.model);
}

void BadSectors::clear() {
  for (const Place& place : places_) tell('-', place);
  for (Model* model : models_) model->set_bad({});
  places_.clear();
  models_.clear();
}

void BadSectors::tell(char sign, const Place& place) const {
  const std::string text =
      sign + std::to_string(place.first) + "-" + std::to_string(place.last) + "\n";
  const int fd = static_cast<int>(lab::check(open(attribute_.c_str(), O_WRONLY), attribute_));
  lab::check(write(fd, text.data(), text.size()), attribute_ + ": " + text);
  close(fd);
}

}  // namespace dio
