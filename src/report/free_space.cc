// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/free_space.h"

#include <algorithm>
#include <bit>
#include <boost/json.hpp>

#include "json/text.h"
#include "report/json_parts.h"
#include "util/text.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kDefaultChunkKb = 1024;
constexpr std::uint32_t kMostChunkBits = 30;
constexpr std::string_view kUnits = "KMGTPEZY";

// A part of a whole in percent. "inf" and "nan" are printed as by the C library.
double percent(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) * 100 / static_cast<double>(whole);
}

std::string histogram_row(const FreeSpaceReport& free, std::size_t bucket) {
  const auto& [extents, blocks] = free.printed.buckets[bucket];
  const std::uint64_t from = bucket_kb(bucket, free.superblock.block_size() / 1024);
  const auto unit = from == 0 ? 0u : static_cast<unsigned>(std::bit_width(from) - 1) / 10;
  const std::string end =
      bucket + 1 == stats::FreeExtents::kBuckets
          ? "max "
          : fmt::format("{:5}{}-", (from == 0 ? 1 : 2 * from) >> (10 * unit), kUnits[unit]);
  return fmt::format("{:5}{}...{:>7}  :  {:12}  {:12}  {:>6.2f}%\n", from >> (10 * unit),
                     kUnits[unit], end, extents, blocks,
                     percent(blocks, free.superblock.free_blocks_count));
}

std::string chunk_lines(const FreeSpaceReport& free) {
  const std::uint64_t chunks = free.chunks();
  return fmt::format(
      "\nChunksize: {} bytes ({} blocks)\n"
      "Total chunks: {}\nFree chunks: {} ({:.1f}%)\n",
      free.chunk_bytes(), std::uint64_t{1} << free.extents.chunk_bits, chunks,
      free.printed.free_chunks, percent(free.printed.free_chunks, chunks));
}

// The lines about FITRIM. The number of bytes is printed as by fstrim -v.
std::string fitrim_lines(const FreeSpaceReport& free) {
  const stats::FitrimCount& fitrim = *free.fitrim;
  const image::SuperblockInfo& geo = free.superblock;
  return fmt::format("\nfstrim after mount: {} bytes in {} discards of at least {} blocks\n",
                     geo.to_blocks(fitrim.clusters) * geo.block_size(), fitrim.discards,
                     geo.to_blocks(std::max<std::uint64_t>(fitrim.minlen, 1)));
}

json::object fitrim_json(const FreeSpaceReport& free) {
  const stats::FitrimCount& fitrim = *free.fitrim;
  const image::SuperblockInfo& geo = free.superblock;
  return {{"minlen_blocks", geo.to_blocks(std::max<std::uint64_t>(fitrim.minlen, 1))},
          {"discards", fitrim.discards},
          {"blocks", geo.to_blocks(fitrim.clusters)},
          {"bytes", geo.to_blocks(fitrim.clusters) * geo.block_size()}};
}

json::array bad_groups_json(const FreeSpaceReport& free) {
  json::array rows;
  for (const auto& [group, fault] : free.bad_groups)
    rows.push_back({{"group", group}, {"reason", image::describe(fault)}});
  return rows;
}

// Scans each piece of the image separately, then joins the pieces in order. If `aligned` is not
// null, also counts aligned pieces.
Result<stats::FreeExtents> scan(image::Image& image, const stats::BlockSpace& space,
                                std::uint32_t chunk_bits, stats::AlignedFree* aligned) {
  const std::uint64_t clusters_per_group = image.superblock().clusters_per_group;
  std::vector<std::optional<stats::FreeExtentScan>> parts(image.scan_pieces());
  std::vector<stats::AlignedFree> counts(parts.size());
  E4R_CHECK(image.scan_bitmaps(
      [&](unsigned piece, GroupNumber group, std::span<const std::uint64_t> words) {
        auto& part = parts[piece];
        if (!part) part.emplace(space, chunk_bits, group * clusters_per_group);
        part->add(words, image.groups()[group].clusters);
        if (aligned != nullptr) counts[piece].add_group(image.superblock(), group, words);
      }));
  if (aligned != nullptr)
    for (const stats::AlignedFree& count : counts) aligned->merge(count);
  stats::FreeExtentScan whole(space, chunk_bits);
  for (const auto& part : parts) whole.append(*part);
  return whole.finish();
}

std::string aligned_lines(const FreeSpaceReport& free) {
  std::string out =
      fmt::format("\nALIGNED FREE PIECES, EACH IN ONE GROUP:\n{:<17} :  {:>12}  {:>12}  {:>7}\n",
                  "Size and Alignment", "Free pieces", "Free Blocks", "Percent");
  for (std::size_t i = 0; i < stats::AlignedFree::kSizeBits.size(); ++i) {
    const std::uint64_t blocks = free.aligned.blocks(free.superblock, i);
    out += fmt::format("{:>17}K  :  {:12}  {:12}  {:>6.2f}%\n",
                       1u << (stats::AlignedFree::kSizeBits[i] - 10), free.aligned.pieces[i],
                       blocks, free.extents.blocks == 0 ? 0 : percent(blocks, free.extents.blocks));
  }
  return out;
}

}  // namespace

Result<std::uint32_t> chunk_bits(std::uint64_t chunk_kb, std::uint32_t block_size) {
  const std::uint64_t kb = chunk_kb == 0 ? kDefaultChunkKb : chunk_kb;
  const std::uint64_t block_kb = block_size / 1024;
  if (!std::has_single_bit(kb))
    return error("a chunk of {} KB: the size must be a power of two, such as 1024", kb);
  if (kb < block_kb)
    return error("a chunk of {} KB is smaller than a block: give at least {}", kb, block_kb);
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(kb) - std::countr_zero(block_kb));
  if (bits > kMostChunkBits)
    return error("a chunk of {} KB is too large: give at most {}", kb, block_kb << kMostChunkBits);
  return bits;
}

Result<FreeSpaceReport> measure_free_space(image::Image& image, std::uint32_t chunk_bits,
                                           bool aligned) {
  const image::SuperblockInfo& geo = image.superblock();
  stats::BlockSpace space = {geo.first_data_block, geo.blocks_count, geo.cluster_bits};
  FreeSpaceReport free;
  E4R_TRY(const stats::FreeExtents extents,
          scan(image, space, chunk_bits, aligned ? &free.aligned : nullptr));
  stats::FreeExtents printed = extents;
  if (space.cluster_bits != 0) {
    space.cluster_bits *= 2;
    E4R_TRY(printed, scan(image, space, chunk_bits, nullptr));
  }
  free.path = image.path();
  free.superblock = geo;
  free.extents = extents;
  free.printed = printed;
  for (const GroupNumber group : image.bad_groups())
    free.bad_groups.push_back({group, image.groups()[group].fault});
  return free;
}

Result<stats::FitrimCount> measure_fitrim(image::Image& image, std::uint64_t minlen) {
  std::vector<stats::FitrimCount> parts(image.scan_pieces(), {minlen, 0, 0});
  E4R_CHECK(image.scan_bitmaps(
      [&](unsigned piece, GroupNumber group, std::span<const std::uint64_t> words) {
        parts[piece].add(words, image.groups()[group].clusters);
      }));
  stats::FitrimCount all = {minlen, 0, 0};
  for (const stats::FitrimCount& part : parts) {
    all.discards += part.discards;
    all.clusters += part.clusters;
  }
  return all;
}

std::string free_space_text(const FreeSpaceReport& free) {
  const image::SuperblockInfo& geo = free.superblock;
  const stats::FreeExtents& extents = free.printed;
  const std::uint64_t block_kb = geo.block_size() / 1024;
  std::string text =
      fmt::format("Device: {}\nBlocksize: {} bytes\nTotal blocks: {}\nFree blocks: {} ({:.1f}%)\n",
                  escape(free.path), geo.block_size(), geo.blocks_count, geo.free_blocks_count,
                  percent(geo.free_blocks_count, geo.blocks_count));
  if (free.chunks_wanted) text += chunk_lines(free);
  text += fmt::format(
      "\nMin. free extent: {} KB \nMax. free extent: {} KB\nAvg. free extent: {} KB\n"
      "Num. free extent: {}\n\nHISTOGRAM OF FREE EXTENT SIZES:\n{} :  {:>12}  {:>12}  {:>7}\n",
      extents.min * block_kb, extents.max * block_kb, extents.average() * block_kb, extents.count,
      "Extent Size Range", "Free extents", "Free Blocks", "Percent");
  for (std::size_t i = 0; i < stats::FreeExtents::kBuckets; ++i)
    if (extents.buckets[i].extents != 0) text += histogram_row(free, i);
  if (free.aligned_wanted) text += aligned_lines(free);
  if (free.fitrim) text += fitrim_lines(free);
  return text;
}

std::string free_space_json(const FreeSpaceReport& free) {
  const stats::FreeExtents& extents = free.extents;
  json::object document = {
      {"schema", "e4replay-freefrag/1"},
      {"image", image_json(free.path, free.superblock)},
      {"free_extents", free_extents_json(extents, free.superblock.block_size())},
      {"chunks",
       {{"size_kb", free.chunk_bytes() / 1024},
        {"total", free.chunks()},
        {"free", extents.free_chunks}}},
      {"aligned", aligned_json(free.aligned, free.superblock, extents.blocks)},
      {"bad_groups", bad_groups_json(free)}};
  if (free.fitrim) document["fitrim"] = fitrim_json(free);
  return json_text(document);
}

}  // namespace e4r::report
