// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/space_picture.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json.hpp>
#include <cmath>
#include <optional>

#include "json/text.h"
#include "report/json_parts.h"
#include "report/page.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

// The shades of cells, from entirely free to entirely used. Each of the three shades in between
// covers a third.
constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
constexpr std::array<std::string_view, 5> kAsciiShades = {" ", ".", ":", "*", "#"};
constexpr std::string_view kOrders = "0123456789abcdefghijklmnopqrstuvwxyz";

std::size_t shade_of(const stats::SpaceCell& cell) {
  const std::uint64_t used = cell.blocks - cell.free_blocks;
  if (used == 0) return 0;
  if (cell.free_blocks == 0) return 4;
  return 1 + std::min<std::uint64_t>(used * 3 / cell.blocks, 2);
}

// The character for the order of the cell's longest free extent. Only the last extent of a device
// can be shorter than a cluster. It counts as one cluster.
std::string_view order_of(const stats::SpaceCell& cell, std::uint32_t cluster_bits) {
  if (cell.longest == 0) return ".";
  const std::uint64_t clusters = std::max<std::uint64_t>(cell.longest >> cluster_bits, 1);
  return kOrders.substr(static_cast<std::size_t>(std::bit_width(clusters)) - 1, 1);
}

std::string legend(const SpacePicture& picture, const TextForm& form) {
  const image::SuperblockInfo& geo = picture.superblock;
  const std::uint64_t bytes = picture.cells.front().blocks << geo.block_bits;
  const std::string each =
      fmt::format("each character is {} ({:.4g} groups)", format_size(bytes),
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

std::string space_sign(const stats::SpaceCell& cell, std::uint32_t cluster_bits,
                       const TextForm& form) {
  if (form.shown == Shown::order) return std::string(order_of(cell, cluster_bits));
  return std::string((form.ascii ? kAsciiShades : kShades)[shade_of(cell)]);
}

std::string space_text(const SpacePicture& picture, const TextForm& form) {
  const image::SuperblockInfo& geo = picture.superblock;
  const auto size = [&](std::uint64_t blocks) { return format_size(blocks << geo.block_bits); };
  const std::uint64_t all = geo.blocks_count - geo.first_data_block;
  std::string text = fmt::format(
      "{}: {}, {} blocks, {} groups\n{} free ({:.1f} %) in {} extents; the longest is {}\n",
      escape(picture.path), size(geo.blocks_count), format_size(geo.block_size()),
      format_count(geo.groups), size(picture.free_blocks),
      100 * static_cast<double>(picture.free_blocks) / static_cast<double>(all),
      format_count(picture.free_extents), size(picture.longest));
  text += legend(picture, form) + "\n";
  for (std::size_t at = 0; at < picture.cells.size(); at += form.columns) {
    text += fmt::format("{:>10} |", size(picture.cells[at].first_block));
    for (std::size_t i = at; i < std::min(at + form.columns, picture.cells.size()); ++i)
      text += space_sign(picture.cells[i], geo.cluster_bits, form);
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

namespace {

// in pixels
constexpr unsigned kCell = 12, kLeft = 80, kRight = 16, kTop = 64, kHead = 24, kKey = 36, kGap = 16;

struct Colour {
  unsigned red, green, blue;
};
constexpr Colour kFree = {235, 243, 250}, kFull = {12, 52, 110};
constexpr Colour kShort = {232, 245, 233}, kLong = {18, 96, 44}, kNone = {201, 201, 201};

// The colour between `from` (part 0) and `to` (part 1).
std::string between(const Colour& from, const Colour& to, double part) {
  const auto mix = [&](unsigned a, unsigned b) {
    return std::lround(a + (static_cast<double>(b) - a) * part);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(from.red, to.red), mix(from.green, to.green),
                     mix(from.blue, to.blue));
}

// The position of an extent of `blocks` blocks on a logarithmic scale from one block (0) to the
// longest possible extent (1).
double on_scale(std::uint64_t blocks, std::uint64_t most) {
  const int top = std::max<int>(std::bit_width(most) - 1, 1);
  return std::min(1.0, static_cast<double>(std::bit_width(blocks) - 1) / top);
}

class Drawing {
 public:
  Drawing(const SpacePicture& picture, std::uint32_t columns)
      : picture_(picture),
        geo_(picture.superblock),
        columns_(std::min<std::uint64_t>(columns, picture.cells.size())),
        rows_((picture.cells.size() + columns_ - 1) / columns_) {}

  [[nodiscard]] std::string document() {
    const std::uint64_t width = std::max<std::uint64_t>(kLeft + columns_ * kCell + kRight, 560);
    const std::uint64_t panel = kHead + rows_ * kCell + kKey;
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<style>text{{fill:#333}}.ground{{fill:#fff}}@media(prefers-color-scheme:dark)"
        "{{text{{fill:#ddd}}.ground{{fill:#14171b}}}}</style>\n"
        "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        width, kTop + 2 * panel + kGap);
    text(16, 24, fmt::format("Free space of {}", escape(picture_.path)), 15);
    text(16, 46,
         fmt::format("{}, {} groups; {} free in {} extents, the longest {}",
                     size(geo_.blocks_count), format_count(geo_.groups), size(picture_.free_blocks),
                     format_count(picture_.free_extents), size(picture_.longest)));
    const auto fragmented = [this](const auto& cell) { return how_fragmented(cell); };
    draw_panel(kTop, std::string(kHowFull), how_full);
    key(kTop + panel - kKey, kFree, kFull, "all free", "full");
    draw_panel(kTop + panel + kGap, std::string(kHowFragmented), fragmented);
    key(kTop + 2 * panel + kGap - kKey, kShort, kLong, size(1), longest_key());
    return out_ + "</svg>\n";
  }

  // Returns the same picture for a page of any width.
  [[nodiscard]] std::string page() {
    const auto fragmented = [this](const auto& cell) { return how_fragmented(cell); };
    out_ = fmt::format("<h2>{}</h2>\n", kHowFull);
    page_panel(how_full);
    page_key(kFree, kFull, "all free", "full");
    out_ += fmt::format("<h2>{}</h2>\n", kHowFragmented);
    page_panel(fragmented);
    page_key(kShort, kLong, size(1), longest_key());
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kHowFull = "How full: how much of the blocks is in use";
  static constexpr std::string_view kHowFragmented = "How fragmented: the longest free extent";

  static std::string how_full(const stats::SpaceCell& cell) {
    return between(kFree, kFull,
                   1 - static_cast<double>(cell.free_blocks) / static_cast<double>(cell.blocks));
  }

  [[nodiscard]] std::string how_fragmented(const stats::SpaceCell& cell) const {
    if (cell.longest == 0) return between(kNone, kNone, 0);
    return between(kShort, kLong, on_scale(cell.longest, geo_.blocks_per_group));
  }

  [[nodiscard]] std::string longest_key() const {
    return size(geo_.blocks_per_group) + " (a group), by powers of two; grey: nothing is free";
  }

  [[nodiscard]] std::string size(std::uint64_t blocks) const {
    return format_size(blocks << geo_.block_bits);
  }

  void text(std::uint64_t x, std::uint64_t y, const std::string& words, unsigned font = 12) {
    out_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>\n", x, y, font,
                        html_escape(words));
  }

  template <class ColourOf>
  void draw_panel(std::uint64_t top, const std::string& title, ColourOf colour_of) {
    text(kLeft, top + 14, title, 13);
    for (std::uint64_t row = 0; row < rows_; ++row)
      if (row % std::max<std::uint64_t>(rows_ / 8, 1) == 0)
        out_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                            top + kHead + row * kCell + kCell - 2,
                            size(picture_.cells[row * columns_].first_block));
    draw_cells(kLeft, top + kHead, colour_of);
  }

  template <class ColourOf>
  void draw_cells(std::uint64_t left, std::uint64_t top, ColourOf colour_of) {
    for (std::uint64_t i = 0; i < picture_.cells.size(); ++i) {
      const stats::SpaceCell& cell = picture_.cells[i];
      out_ += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>at {}: {} of {} "
          "free, {} extents, the longest {}</title></rect>\n",
          left + i % columns_ * kCell, top + i / columns_ * kCell, kCell - 1, kCell - 1,
          colour_of(cell), size(cell.first_block), size(cell.free_blocks), size(cell.blocks),
          format_count(cell.free_extents), size(cell.longest));
    }
  }

  // A panel of the page: the squares shrink with the page's width, but words do not.
  template <class ColourOf>
  void page_panel(ColourOf colour_of) {
    // Labels fit even if the squares shrink to a third of their size.
    const std::uint64_t step = std::max<std::uint64_t>({rows_ / 8, columns_ / 16, 1});
    out_ += "<div class=\"space\"><div class=\"places\">";
    for (std::uint64_t row = 0; row < rows_; row += step)
      out_ += fmt::format("<span style=\"top:{:.2f}%\">{}</span>",
                          100.0 * static_cast<double>(row) / static_cast<double>(rows_),
                          size(picture_.cells[row * columns_].first_block));
    out_ += fmt::format(
        "</div><svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" "
        "aria-label=\"squares in the order of the device\">\n",
        columns_ * kCell, rows_ * kCell);
    draw_cells(0, 0, colour_of);
    out_ += "</svg></div>\n";
  }

  void page_key(const Colour& from, const Colour& to, const std::string& first,
                const std::string& last) {
    out_ += fmt::format(
        "<p class=\"ramp\">{} <span style=\"background:linear-gradient(to right,{},{})\"></span> "
        "{}</p>\n",
        html_escape(first), between(from, to, 0), between(from, to, 1), html_escape(last));
  }

  void key(std::uint64_t top, const Colour& from, const Colour& to, const std::string& first,
           const std::string& last) {
    constexpr std::uint64_t kSteps = 9;
    text(kLeft, top + 20, first);
    const std::uint64_t left = kLeft + 60;
    for (std::uint64_t i = 0; i < kSteps; ++i)
      out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                          left + i * kCell, top + 10, kCell - 1, kCell - 1,
                          between(from, to, static_cast<double>(i) / (kSteps - 1)));
    text(left + kSteps * kCell + 6, top + 20, last);
  }

  const SpacePicture& picture_;
  const image::SuperblockInfo& geo_;
  std::uint64_t columns_, rows_;
  std::string out_;
};

}  // namespace

std::string space_svg(const SpacePicture& picture, std::uint32_t columns) {
  return Drawing(picture, columns).document();
}

std::string space_html(const SpacePicture& picture, std::uint32_t columns) {
  const auto size = [bits = picture.superblock.block_bits](std::uint64_t blocks) {
    return format_size(blocks << bits);
  };
  Page page;
  page.title = "Free space of " + picture.path;
  page.heading = page.title;
  page.headline =
      fmt::format("{} of {} are free, in {} extents of {} on average; the longest is {}",
                  size(picture.free_blocks), size(picture.superblock.blocks_count),
                  format_count(picture.free_extents),
                  size(picture.free_extents == 0 ? 0 : picture.free_blocks / picture.free_extents),
                  size(picture.longest));
  page.summary = fmt::format(
      "<p class=\"note\">{} groups of {}; a square is {}, and shows its figures when the pointer "
      "rests on it.{}</p>\n",
      format_count(picture.superblock.groups), size(picture.superblock.blocks_per_group),
      picture.cells.empty() ? "nothing" : size(picture.cells.front().blocks),
      picture.bad_groups == 0
          ? ""
          : fmt::format(" {} damaged groups count as full.", format_count(picture.bad_groups)));
  page.body = Drawing(picture, columns).page();
  return html_page(page);
}

}  // namespace e4r::report
