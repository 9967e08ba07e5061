// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/page.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "json/text.h"
#include "report/page_assets.h"
#include "util/escaped.h"

namespace e4r::report {

// The plots' data, the script that draws them, and a word where no script runs.
static std::string html_plots(const Page& page) {
  return fmt::format(
      "<script type=\"application/json\" id=\"data\">{}</script>\n"
      "<script>\n'use strict';\n(() => {{\n{}{}}})();\n</script>\n",
      page.data, kPartsJs, page.script);
}

std::string html_page(const Page& page) {
  const bool plots = !page.script.empty();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style></head>\n"
      "<body>\n<header><h1>{}</h1>\n<p class=\"headline\">{}</p>\n{}</header>\n"
      "{}<main>\n{}</main>\n{}</body></html>\n",
      html_escape(page.title), kPageCss, html_escape(page.heading), html_escape(page.headline),
      page.summary,
      plots ? "<noscript><p class=\"note\">The plots need JavaScript; the tables do not.</p>"
              "</noscript>\n"
            : "",
      page.body, plots ? html_plots(page) : std::string());
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : escaped_lines(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string script_json(const boost::json::value& value) {
  std::string out;
  for (const char c : json_line(value)) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string html_figure(std::string_view id, std::string_view title, std::string_view text) {
  return fmt::format(
      "<figure><figcaption><b>{}</b> {}</figcaption><div class=\"plot\" "
      "id=\"{}\"></div></figure>\n",
      title, text, id);
}

// The style's name for the colour of a series.
static std::string colour_name(std::size_t series) {
  if (series == kRecordedSeries) return "recorded";
  return fmt::format("s{}", series == 0 ? 0 : 1 + (series - 1) % 7);
}

std::string html_card(std::string_view title, const std::vector<CardLine>& lines) {
  std::string out = fmt::format("<div class=\"card\"><h3>{}</h3><dl>\n", html_escape(title));
  for (const CardLine& line : lines)
    out += fmt::format(
        "<dt style=\"--colour:var(--{})\">{}</dt><dd class=\"value\">{}</dd><dd "
        "class=\"change\">{}</dd>\n",
        colour_name(line.series), html_escape(line.name), html_escape(line.value),
        html_escape(line.change));
  return out + "</dl></div>\n";
}

}  // namespace e4r::report
