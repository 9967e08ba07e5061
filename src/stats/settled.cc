// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/settled.h"

#include <algorithm>

namespace e4r::stats {
namespace {

BlockSpace space_of(const Geometry& g) {
  return {g.first_data_block, g.blocks_count, g.cluster_bits};
}

// `words_of` returns a group's bitmap, valid until its next call.
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

void FileFragmentation::add(std::span<const FileExtent> extents_of_file, const Geometry& geometry) {
  if (extents_of_file.empty()) return;
  ++files;
  extents += extents_of_file.size();
  one_extent += extents_of_file.size() == 1 ? 1 : 0;
  most_extents = std::max<std::uint64_t>(most_extents, extents_of_file.size());
  std::uint64_t of_file = 0;
  for (const FileExtent& extent : extents_of_file) of_file += extent.len;
  blocks += of_file;
  const std::uint64_t flex = geometry.flex_bg ? geometry.flex_size() : 1;
  best_extents += (of_file - 1) / (geometry.blocks_per_group * flex) + 1;
}

std::optional<double> FileFragmentation::defrag_score() const {
  if (blocks == 0) return std::nullopt;
  const double over = static_cast<double>(extents) - static_cast<double>(best_extents);
  const double percent = 100 * over / static_cast<double>(blocks);
  return percent > 10 ? 80 + percent / 5 : 8 * percent;
}

FileFragmentation file_fragmentation(const replay::FileLayouts& files, const Geometry& geometry) {
  FileFragmentation out;
  for (const auto& [ino, layout] : files) out.add(layout.extents(), geometry);
  return out;
}

}  // namespace e4r::stats
