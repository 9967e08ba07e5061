// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/replay_report.h"

// A page for a browser: one self-contained file that needs no network. Text and tables need no
// script; the script draws the plots.
namespace e4r::report {

struct Page {
  std::string title;        // title of the window
  std::string heading;      // what kind of page it is
  std::string headline;     // the main result, in words
  std::string summary;      // HTML below the headline
  std::string body;         // HTML
  std::string data;         // data for the script, from script_json()
  std::string_view script;  // draws the plots; runs after html/parts.js; empty if the page has no
                            // plots
};

// The document. title, heading and headline are plain text; everything else is inserted unchanged.
[[nodiscard]] std::string html_page(const Page& page);

// Escapes a string for use between tags and in quoted attributes.
[[nodiscard]] std::string html_escape(std::string_view text);

// Returns JSON without '<', so that no name in it can close the HTML element that contains the
// JSON.
[[nodiscard]] std::string script_json(const boost::json::value& value);

// An empty figure into which the script draws the plot with that id.
[[nodiscard]] std::string html_figure(std::string_view id, std::string_view title,
                                      std::string_view text);

// A line on a card: what is measured, its value, and how it differs. `series` selects its colour: 0
// is the start image, kRecordedSeries the recorded kernel, and the others are policies.
inline constexpr std::size_t kRecordedSeries = ~std::size_t{0};
struct CardLine {
  std::size_t series = 0;
  std::string name;
  std::string value;
  std::string change;
};
[[nodiscard]] std::string html_card(std::string_view title, const std::vector<CardLine>& lines);

// Parts of the page that need no script.

// The image, the trace, and how far the results can be trusted.
[[nodiscard]] std::string html_facts(const ReplayReport& report);
// Every row that the text shows.
[[nodiscard]] std::string html_rows(const ReplayReport& report);
// Free extents by size, one row for each bucket and column.
[[nodiscard]] std::string html_histogram(const ReplayReport& report);
// The decisions with the most steps under each policy, with an explanation where one was recorded.
// Empty if no decision took a step.
[[nodiscard]] std::string html_slowest(const ReplayReport& report);

// The data for the page's script (html/replay.js), from script_json(). A file system of more than
// kMostCells groups is summed up in at most kMostCells cells.
inline constexpr std::size_t kMostCells = 4096;
[[nodiscard]] std::string html_data(const ReplayReport& report);

// The files of src/report/html, embedded by the build.
extern const std::string_view kPageCss;
extern const std::string_view kPartsJs;
extern const std::string_view kReplayJs;
extern const std::string_view kSweepJs;
extern const std::string_view kVerifyJs;
extern const std::string_view kWritersJs;

}  // namespace e4r::report
