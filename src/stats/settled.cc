// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/settled.h"

#include <algorithm>

namespace e4r::stats {
namespace {

BlockSpace space_of(const state::Geometry& g) {
  return {g.first_data_block, g.blocks_count, g.cluster_bits};
}

}  // namespace

SettledFree settled_free(const state::FsState& state, std::uint32_t chunk_bits) {
  FreeExtentScan extents(space_of(state.geometry()), chunk_bits);
  FreeChunkScan chunks(state.geometry());
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < state.group_count(); ++group) {
    state.settled_words(group, words);
    const std::uint32_t clusters = state.geometry().clusters_in(group);
    extents.add(words, clusters);
    chunks.add(words, clusters);
  }
  return {extents.finish(), chunks.finish()};
}

FreeExtents source_free_extents(const state::Source& source, std::uint32_t chunk_bits) {
  FreeExtentScan scan(space_of(source.geometry), chunk_bits);
  for (std::uint32_t group = 0; group < source.groups.size(); ++group)
    scan.add(source.groups[group].words, source.geometry.clusters_in(group));
  return scan.finish();
}

FileFragmentation file_fragmentation(
    const std::unordered_map<std::uint64_t, replay::FileLayout>& files) {
  FileFragmentation out;
  for (const auto& [ino, layout] : files) {
    const std::uint64_t extents = layout.extents().size();
    if (extents == 0) continue;
    ++out.files;
    out.extents += extents;
    out.one_extent += extents == 1 ? 1 : 0;
    out.most_extents = std::max(out.most_extents, extents);
    for (const replay::FileExtent& extent : layout.extents()) out.blocks += extent.len;
  }
  return out;
}

}  // namespace e4r::stats
