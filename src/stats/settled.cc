// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/settled.h"

#include <algorithm>

namespace e4r::stats {
namespace {

BlockSpace space_of(const Geometry& g) {
  return {g.first_data_block, g.blocks_count, g.cluster_bits};
}

// `words_of` has the bitmap of a group, good until it is asked for the next.
template <class WordsOf>
SettledFree scan(const Geometry& geometry, std::uint32_t chunk_bits, WordsOf words_of) {
  FreeExtentScan extents(space_of(geometry), chunk_bits);
  FreeChunkScan chunks(geometry);
  for (std::uint32_t group = 0; group < geometry.groups; ++group) {
    const state::bitmap::ConstWords words = words_of(group);
    const std::uint32_t clusters = geometry.clusters_in(group);
    extents.add(words, clusters);
    chunks.add(words, clusters);
  }
  return {extents.finish(), chunks.finish()};
}

}  // namespace

SettledFree settled_free(const state::FsState& state, std::uint32_t chunk_bits) {
  std::vector<std::uint64_t> words;
  return scan(state.geometry(), chunk_bits, [&](std::uint32_t group) {
    state.settled_words(group, words);
    return state::bitmap::ConstWords(words);
  });
}

SettledFree source_free(const state::Source& source, std::uint32_t chunk_bits) {
  return scan(source.geometry, chunk_bits,
              [&](std::uint32_t group) { return source.groups[group].words; });
}

FileFragmentation file_fragmentation(
    const std::unordered_map<std::uint64_t, replay::FileLayout>& files, const Geometry& geometry) {
  FileFragmentation out;
  for (const auto& [ino, layout] : files) {
    const std::uint64_t extents = layout.extents().size();
    if (extents == 0) continue;
    ++out.files;
    out.extents += extents;
    out.one_extent += extents == 1 ? 1 : 0;
    out.most_extents = std::max(out.most_extents, extents);
    std::uint64_t blocks = 0;
    for (const FileExtent& extent : layout.extents()) blocks += extent.len;
    out.blocks += blocks;
    out.best_extents += best_extents(blocks, geometry);
  }
  return out;
}

std::uint64_t best_extents(std::uint64_t blocks, const Geometry& geometry) {
  const std::uint64_t flex = geometry.flex_bg ? geometry.flex_size() : 1;
  return (blocks - 1) / (geometry.blocks_per_group * flex) + 1;
}

std::optional<double> defrag_score(std::uint64_t extents, std::uint64_t best,
                                   std::uint64_t blocks) {
  if (blocks == 0) return std::nullopt;
  const double over = static_cast<double>(extents) - static_cast<double>(best);
  const double percent = 100 * over / static_cast<double>(blocks);
  return percent > 10 ? 80 + percent / 5 : 8 * percent;
}

}  // namespace e4r::stats
