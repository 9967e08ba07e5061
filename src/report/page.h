// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/replay_report.h"

// A page for a browser: one file that needs no other and no network. Text and tables are there
// without a script; its script draws the plots.
namespace e4r::report {

struct Page {
  std::string title;        // of the window
  std::string heading;      // what kind of page it is
  std::string headline;     // the point of it, in words
  std::string summary;      // HTML below the headline
  std::string body;         // HTML
  std::string data;         // what the script draws, of script_json()
  std::string_view script;  // draws the plots, after html/parts.js; empty: the page has no plots
};

// The document. Title, heading and headline are text; all else is put in as it is.
[[nodiscard]] std::string html_page(const Page& page);

// As text between tags and in quoted attributes.
[[nodiscard]] std::string html_escape(std::string_view text);

// JSON without a '<' in it, so that nothing in a name ends the element that it stands in.
[[nodiscard]] std::string script_json(const boost::json::value& value);

// The place of a plot that the script puts into the element of that id.
[[nodiscard]] std::string html_figure(std::string_view id, std::string_view title,
                                      std::string_view text);

// A figure on a card: what it is of, what it is, and how it differs. `series` has its colour: 0 the
// start image's, kRecordedSeries the recorded kernel's, the others are policies.
inline constexpr std::size_t kRecordedSeries = ~std::size_t{0};
struct CardLine {
  std::size_t series = 0;
  std::string name;
  std::string value;
  std::string change;
};
[[nodiscard]] std::string html_card(std::string_view title, const std::vector<CardLine>& lines);

// Parts of the page that are there without its script.

// Image, trace, and what the answers are worth.
[[nodiscard]] std::string html_facts(const ReplayReport& report);
// Every row that the text shows.
[[nodiscard]] std::string html_rows(const ReplayReport& report);
// Free extents by size, a row per bucket and column.
[[nodiscard]] std::string html_histogram(const ReplayReport& report);
// The decisions with most steps under each policy and why they took them, where that was written
// down; empty when none took any.
[[nodiscard]] std::string html_slowest(const ReplayReport& report);

// What the page's script draws (html/replay.js), by script_json(). File systems of more than
// kMostCells groups are summed up in as many cells.
inline constexpr std::size_t kMostCells = 4096;
[[nodiscard]] std::string html_data(const ReplayReport& report);

// src/report/html/*, as the build has put them in.
extern const std::string_view kPageCss;
extern const std::string_view kPartsJs;
extern const std::string_view kReplayJs;
extern const std::string_view kSweepJs;
extern const std::string_view kVerifyJs;
extern const std::string_view kWritersJs;

}  // namespace e4r::report
