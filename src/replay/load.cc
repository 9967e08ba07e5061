// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/load.h"

#include <algorithm>

namespace e4r::replay {
namespace {

// Returns the stripe in blocks: the superblock's stripe width if it fits in a group, else its
// stride if that fits, else 0 (ext4_get_stripe_size, Linux 6.1).
std::uint32_t stripe_of(const image::SuperblockInfo& g) {
  std::uint32_t stripe = 0;
  if (g.stripe_width != 0 && g.stripe_width <= g.blocks_per_group)
    stripe = g.stripe_width;
  else if (g.stride <= g.blocks_per_group)
    stripe = g.stride;
  return stripe <= 1 ? 0 : stripe;
}

// The geometry and the mount options that the superblock determines.
state::MountedGeometry geometry_from(const image::SuperblockInfo& g) {
  state::MountedGeometry out{static_cast<const Geometry&>(g)};
  out.stripe = stripe_of(g);
  out.desc_csum = g.features.group_checksums();
  out.journal = g.features.has_journal;
  out.extents = g.features.extents;
  const MountFacts mount = read_mount("", g.default_mount_opts);
  out.data_writeback = mount.data_writeback;
  out.discard = mount.discard;
  return out;
}

}  // namespace

state::Source source_from(const image::Image& image) {
  state::Source source;
  source.geometry = geometry_from(image.superblock());
  source.groups.reserve(image.groups().size());
  for (std::uint32_t number = 0; number < image.groups().size(); ++number) {
    const image::GroupInfo& info = image.groups()[number];
    state::GroupSource group;
    group.words = image.bitmap(number);
    // A bitmap may show metadata as free. In the model, those clusters are in use and do not count
    // as free.
    const std::uint32_t wrong = std::min(info.free_metadata, info.free_clusters);
    group.disk_free = info.free_clusters - wrong;
    group.init_free = group.disk_free;
    group.block_uninit = info.block_uninit;
    group.corrupt = info.bad();
    if (info.block_uninit)
      group.init_free =
          state::bitmap::count_clear(group.words, image.superblock().clusters_per_group);
    source.groups.push_back(group);
  }
  source.metadata = image.metadata();
  return source;
}

namespace {

// EXT4_DEFM_*, fs/ext4/ext4.h
constexpr std::uint32_t kJournalMode = 0x0060;
constexpr std::uint32_t kWriteback = 0x0060;
constexpr std::uint32_t kDiscard = 0x0400;

void apply(std::string_view word, MountFacts& facts) {
  if (word.starts_with("data="))
    facts.data_writeback = word == "data=writeback";
  else if (word == "discard" || word == "nodiscard")
    facts.discard = word == "discard";
}

}  // namespace

MountFacts read_mount(std::string_view noted, std::uint32_t default_options) {
  MountFacts facts;
  facts.data_writeback = (default_options & kJournalMode) == kWriteback;
  facts.discard = (default_options & kDiscard) != 0;
  constexpr std::string_view kType = " ext4 ";
  const auto type = noted.find(kType);
  if (type == std::string_view::npos) return facts;
  std::string_view options = noted.substr(type + kType.size());
  options = options.substr(0, options.find_first_of(" \n"));
  while (!options.empty()) {
    const auto end = options.find(',');
    apply(options.substr(0, end), facts);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
  }
  return facts;
}

}  // namespace e4r::replay
