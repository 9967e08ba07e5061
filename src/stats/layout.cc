// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace e4r::stats {
namespace {

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double add_file(std::span<const FileExtent> extents, FileLayoutScore& score) {
  std::uint64_t blocks = extents.front().len;
  std::uint64_t seeks = 0;
  for (std::size_t i = 1; i < extents.size(); ++i) {
    const std::uint64_t left = extents[i - 1].block + extents[i - 1].len;
    const std::uint64_t here = extents[i].block;
    blocks += extents[i].len;
    seeks += here != left ? 1 : 0;
    score.distance += here > left ? here - left : left - here;
  }
  ++score.files;
  score.successors += blocks - 1;
  score.following += blocks - 1 - seeks;
  const auto bucket = static_cast<std::size_t>(std::bit_width(extents.size() - 1));
  ++score.by_extents[std::min(bucket, FileLayoutScore::kBuckets - 1)];
  if (blocks == 1) return -1;
  return static_cast<double>(blocks - 1 - seeks) / static_cast<double>(blocks - 1);
}

std::uint64_t FileLayoutScore::distance_kb(std::uint64_t among, std::uint32_t block_size) const {
  if (among == 0) return 0;
  const double kb = static_cast<double>(distance) * block_size / 1024;
  return static_cast<std::uint64_t>(std::llround(kb / static_cast<double>(among)));
}

std::vector<FilePieces> file_pieces(const replay::FileLayouts& files) {
  std::vector<FilePieces> out;
  for (const auto& [ino, layout] : files) {
    if (layout.extents().empty()) continue;
    FilePieces& file = out.emplace_back(FilePieces{ino, layout.extents().size(), 0});
    for (const FileExtent& extent : layout.extents()) file.blocks += extent.len;
  }
  std::ranges::sort(out, {}, &FilePieces::ino);
  return out;
}

FileLayoutScore file_layout_score(const replay::FileLayouts& files) {
  FileLayoutScore score;
  std::vector<double> shares;
  for (const auto& [ino, layout] : files) {
    if (layout.extents().empty()) continue;
    const double share = add_file(layout.extents(), score);
    if (share >= 0) shares.push_back(share);
  }
  score.median = median_of(shares);
  return score;
}

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
