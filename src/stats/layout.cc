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

}  // namespace e4r::stats
