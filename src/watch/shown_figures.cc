// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/shown_figures.h"

#include <algorithm>
#include <array>

#include "util/text.h"

namespace e4r::watch {
namespace {

using results::Reporter;
using results::Row;

// The figures that are shown by default, with short titles.
struct UsualFigure {
  std::string_view key, on_page, in_lines;
  std::size_t page_width, lines_width;
};
constexpr auto kUsualFigures = std::to_array<UsualFigure>({
    {"requests_per_s", "requests/s", "requests/s", 10, 10},
    {"failed", "failed", "failed", 7, 7},
    {"groups_per_request", "groups/req", "groups/req", 10, 10},
    {"extents_per_request", "extents/req", "extents/req", 11, 11},
    {"free_extents/avg_kb", "free ext, KB", "free extent, KB", 12, 15},
    {"files/avg_extents", "ext/file", "extents/file", 8, 12},
});

Result<const Row*> find_figure(std::string_view key) {
  if (const Row* const row = results::find_row(key, Reporter::watch)) return row;
  std::string known;
  for (const Row& row : results::rows(Reporter::watch))
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.key);
  return error("no figure '{}': choose from {}", printable(key), known);
}

}  // namespace

FigureTitle title_of(const Row& row, ShownIn where) {
  constexpr std::size_t kWidth = 11;  // the width of "999,999,999"
  const auto usual = std::ranges::find(kUsualFigures, row.key, &UsualFigure::key);
  if (usual == kUsualFigures.end()) return {row.key, std::max(row.key.size(), kWidth)};
  if (where == ShownIn::page) return {std::string(usual->on_page), usual->page_width};
  return {std::string(usual->in_lines), usual->lines_width};
}

ShownFigures::ShownFigures() {
  for (const UsualFigure& usual : kUsualFigures)
    if (const Row* const row = results::find_row(usual.key, Reporter::watch)) rows_.push_back(row);
}

Result<ShownFigures> ShownFigures::parse(std::string_view keys) {
  ShownFigures out;
  out.rows_.clear();
  for (bool more = true; more;) {
    const std::size_t comma = keys.find(',');
    const std::string_view key = trim(keys.substr(0, comma));
    E4R_TRY(const Row* const row, find_figure(key));
    if (out.has(*row)) return error("'{}' is given twice", key);
    out.rows_.push_back(row);
    more = comma != std::string_view::npos;
    if (more) keys.remove_prefix(comma + 1);
  }
  return out;
}

bool ShownFigures::has(const Row& row) const {
  return std::ranges::find(rows_, row.key, &Row::key) != rows_.end();
}

void ShownFigures::toggle(const Row& row) {
  const auto found = std::ranges::find(rows_, row.key, &Row::key);
  if (found == rows_.end())
    rows_.insert(rows_.begin(), &row);
  else
    rows_.erase(found);
}

}  // namespace e4r::watch
