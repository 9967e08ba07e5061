// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/space_picture.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json.hpp>
#include <optional>

#include "json/text.h"
#include "report/json_parts.h"
#include "util/escaped.h"
#include "util/units.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

// From all free to none free. Between them the shades are thirds.
constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
constexpr std::array<std::string_view, 5> kAsciiShades = {" ", ".", ":", "*", "#"};
constexpr std::string_view kOrders = "0123456789abcdefghijklmnopqrstuvwxyz";

std::size_t shade_of(const stats::SpaceCell& cell) {
  const std::uint64_t used = cell.blocks - cell.free_blocks;
  if (used == 0) return 0;
  if (cell.free_blocks == 0) return 4;
  return 1 + std::min<std::uint64_t>(used * 3 / cell.blocks, 2);
}

// An extent ends at the end of a cluster, except the last extent of a device.
std::string_view order_of(const stats::SpaceCell& cell, std::uint32_t cluster_bits) {
  if (cell.longest == 0) return ".";
  const std::uint64_t clusters = std::max<std::uint64_t>(cell.longest >> cluster_bits, 1);
  return kOrders.substr(static_cast<std::size_t>(std::bit_width(clusters)) - 1, 1);
}

std::string legend(const SpacePicture& picture, const TextForm& form) {
  const image::SuperblockInfo& geo = picture.superblock;
  const std::uint64_t bytes = picture.cells.front().blocks << geo.block_bits;
  const std::string each =
      fmt::format("a sign is {} ({:.4g} groups)", format_size(bytes),
                  static_cast<double>(picture.cells.front().blocks) / geo.blocks_per_group);
  if (form.shown == Shown::order)
    return each +
           ": the order of the largest free chunk, in clusters (a: 10, b: 11, ...); "
           "\".\": nothing is free\n";
  const auto& shades = form.ascii ? kAsciiShades : kShades;
  return fmt::format("{}: \"{}\" free, \"{}\" \"{}\" \"{}\" used by thirds, \"{}\" full\n", each,
                     shades[0], shades[1], shades[2], shades[3], shades[4]);
}

json::object cell_json(const stats::SpaceCell& cell) {
  return {{"first_block", cell.first_block},
          {"blocks", cell.blocks},
          {"free_blocks", cell.free_blocks},
          {"free_extents", cell.free_extents},
          {"longest_free_extent_blocks", cell.longest}};
}

}  // namespace

Result<SpacePicture> measure_space(image::Image& image, std::uint64_t cells) {
  const image::SuperblockInfo& geo = image.superblock();
  std::vector<std::optional<stats::SpaceMap>> parts(image.scan_pieces());
  E4R_CHECK(image.scan_bitmaps(
      [&](unsigned piece, GroupNumber group, std::span<const std::uint64_t> words) {
        auto& part = parts[piece];
        if (!part) part.emplace(geo, cells);
        part->add(group, words);
      }));
  stats::SpaceMap whole(geo, cells);
  for (const auto& part : parts)
    if (part) whole.merge(*part);
  SpacePicture out = {image.path(), geo, image.bad_groups().size(), whole.cells(), 0, 0, 0};
  for (const stats::SpaceCell& cell : out.cells) {
    out.free_blocks += cell.free_blocks;
    out.free_extents += cell.free_extents;
    out.longest = std::max(out.longest, cell.longest);
  }
  return out;
}

std::string space_text(const SpacePicture& picture, const TextForm& form) {
  const image::SuperblockInfo& geo = picture.superblock;
  const auto size = [&](std::uint64_t blocks) { return format_size(blocks << geo.block_bits); };
  const std::uint64_t all = geo.blocks_count - geo.first_data_block;
  std::string text = fmt::format(
      "{}: {}, {} blocks, {} groups\n{} free ({:.1f} %) in {} extents; the longest is {}\n",
      escaped(picture.path), size(geo.blocks_count), format_size(geo.block_size()),
      format_count(geo.groups), size(picture.free_blocks),
      100 * static_cast<double>(picture.free_blocks) / static_cast<double>(all),
      format_count(picture.free_extents), size(picture.longest));
  text += legend(picture, form) + "\n";
  const auto& shades = form.ascii ? kAsciiShades : kShades;
  for (std::size_t at = 0; at < picture.cells.size(); at += form.columns) {
    text += fmt::format("{:>10} |", size(picture.cells[at].first_block));
    for (std::size_t i = at; i < std::min(at + form.columns, picture.cells.size()); ++i)
      text += form.shown == Shown::order ? order_of(picture.cells[i], geo.cluster_bits)
                                         : shades[shade_of(picture.cells[i])];
    text += "|\n";
  }
  return text;
}

std::string space_json(const SpacePicture& picture) {
  json::array cells;
  cells.reserve(picture.cells.size());
  for (const stats::SpaceCell& cell : picture.cells) cells.push_back(cell_json(cell));
  const json::object document = {{"schema", "e4replay-map/1"},
                                 {"image", image_json(picture.path, picture.superblock)},
                                 {"bad_groups", picture.bad_groups},
                                 {"free",
                                  {{"blocks", picture.free_blocks},
                                   {"extents", picture.free_extents},
                                   {"longest_blocks", picture.longest}}},
                                 {"cells", std::move(cells)}};
  return json_text(document);
}

}  // namespace e4r::report
