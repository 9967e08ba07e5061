// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/fragmented.h"

#include <algorithm>
#include <boost/json.hpp>

#include "report/headline.h"
#include "report/page.h"
#include "report/replay_report.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

// Returns the column's entry for that inode, or an entry without extents if the column does not
// contain the inode.
stats::FilePieces find_file(const std::vector<stats::FilePieces>& column, std::uint64_t ino) {
  const auto at = std::ranges::lower_bound(column, ino, {}, &stats::FilePieces::ino);
  return at != column.end() && at->ino == ino ? *at : stats::FilePieces{ino, 0, 0};
}

std::uint64_t blocks_of(const FragmentedFile& file) {
  return std::ranges::max_element(file.columns, {}, &stats::FilePieces::blocks)->blocks;
}

std::string extents_text(const stats::FilePieces& file) {
  return file.extents == 0 ? "-" : format_count(file.extents);
}

std::string path_text(const FragmentedFile& file) {
  return file.is_new ? "(new)" : escape(file.path);
}

// Explains the list, and how to find paths that it lacks.
std::string note(const FragmentedFiles& all) {
  std::string out = fmt::format(
      "The {} of {} files that have the most extents in any column, counting only blocks that the "
      "trace allocated. ",
      format_count(all.files.size()), format_count(all.all));
  if (!all.has_paths)
    return out +
           "The image has no inodes, so no path is known: `find MOUNTPOINT -inum N` finds one.";
  return out + "Paths are those at the start; (new): created during the recording.";
}

json::object pieces_json(const stats::FilePieces& file) {
  return {{"extents", file.extents}, {"blocks", file.blocks}};
}

}  // namespace

FragmentedFiles most_fragmented(std::span<const std::vector<stats::FilePieces>> columns,
                                std::size_t count) {
  std::vector<stats::FilePieces> all;
  for (const auto& column : columns) all.insert(all.end(), column.begin(), column.end());
  // Keeps one entry for each file: the one with the most extents in any column.
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return a.ino != b.ino ? a.ino < b.ino : a.extents > b.extents;
  });
  const auto same_file = [](const auto& a, const auto& b) { return a.ino == b.ino; };
  all.erase(std::unique(all.begin(), all.end(), same_file), all.end());
  std::ranges::stable_sort(all, std::ranges::greater(), &stats::FilePieces::extents);
  FragmentedFiles out;
  out.all = all.size();
  all.resize(std::min(count, all.size()));
  for (const stats::FilePieces& worst : all) {
    FragmentedFile& file = out.files.emplace_back();
    file.ino = worst.ino;
    for (const auto& column : columns) file.columns.push_back(find_file(column, worst.ino));
  }
  return out;
}

std::string fragmented_text(const ReplayReport& report) {
  if (!report.fragmented) return {};
  TextTable table;
  std::vector<std::string> cells = {"extents of files", "blocks"};
  for (const Column& column : columns(report)) cells.push_back(column.name);
  table.row(cells);
  table.rule();
  for (const FragmentedFile& file : report.fragmented->files) {
    cells = {fmt::format("inode {}  {}", file.ino, path_text(file)), format_count(blocks_of(file))};
    for (const stats::FilePieces& pieces : file.columns) cells.push_back(extents_text(pieces));
    table.row(cells);
  }
  return table.text() + wrap(note(*report.fragmented));
}

json::array fragmented_json(const ReplayReport& report) {
  json::array out;
  if (!report.fragmented) return out;
  const std::size_t first = first_policy(report);
  for (const FragmentedFile& file : report.fragmented->files) {
    json::object one = {{"inode", file.ino},
                        {"path", file.path.empty() ? json::value() : json::value(file.path)},
                        {"new", file.is_new}};
    json::array runs;
    for (std::size_t i = 0; i < file.columns.size(); ++i)
      if (i < first)
        one["recorded"] = pieces_json(file.columns[i]);
      else
        runs.push_back(pieces_json(file.columns[i]));
    one["runs"] = std::move(runs);
    out.push_back(std::move(one));
  }
  return out;
}

std::string fragmented_html(const ReplayReport& report) {
  if (!report.fragmented || report.fragmented->files.empty()) return {};
  std::string out =
      "<h3>Files with most extents</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"files with most extents\">\n<table><thead><tr><th>inode</th><th>blocks</th>";
  for (const Column& column : columns(report))
    out += fmt::format("<th>{}</th>", html_escape(column.name));
  out += "<th class=\"name\">path</th></tr></thead><tbody>\n";
  for (const FragmentedFile& file : report.fragmented->files) {
    out += fmt::format("<tr><td>{}</td><td>{}</td>", file.ino, format_count(blocks_of(file)));
    for (const stats::FilePieces& pieces : file.columns)
      out += fmt::format("<td>{}</td>", extents_text(pieces));
    out += fmt::format("<td class=\"name\">{}</td></tr>\n", html_escape(path_text(file)));
  }
  return out + "</tbody></table></div>\n<p class=\"note\">" +
         html_escape(note(*report.fragmented)) + "</p>\n";
}

}  // namespace e4r::report
