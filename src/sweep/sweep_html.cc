// SPDX-License-Identifier: GPL-2.0-or-later
// A sweep's page. The headline, the cards and the table need no script; report/html/sweep.js draws
// the plots.
#include "sweep/ranking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cmath>
#include <unordered_map>

#include "report/json_parts.h"
#include "report/page.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;
using report::html_escape;

constexpr std::size_t kMostRows = 20;  // rows of the table per capture, plus those on the front

// A sweep with the data that all parts of its page share.
struct PageData {
  const Plan& plan;
  const Figures& figures;
  const results::Row& metric;
  std::vector<Ranking> rankings;
  std::vector<Advice> advice;
};

// ---- Data that the script draws

json::array axes(const Plan& plan) {
  json::array out;
  for (const Axis& axis : plan.spec.axes)
    out.push_back(json::object{{"name", axis.tunable->name},
                               {"meaning", axis.tunable->meaning},
                               {"values", json::array(axis.values.begin(), axis.values.end())}});
  return out;
}

// The position of each point on the axis; -1 if its policy lacks the tunable.
json::array places(const Plan& plan, const std::vector<std::size_t>& points, std::size_t axis) {
  std::unordered_map<std::uint64_t, std::int64_t> place;
  for (const std::uint64_t value : plan.spec.axes[axis].values) place.emplace(value, place.size());
  json::array out;
  for (const std::size_t index : points) {
    const auto& value = plan.points[index].values[axis];
    out.emplace_back(value ? place.at(*value) : -1);
  }
  return out;
}

// A figure to draw: a row, or one of the two that make up the front.
struct Drawn {
  std::string key;
  std::string label;
  bool higher = false;  // higher is better
  std::function<results::Value(std::size_t index)> of;
};

std::vector<Drawn> all_drawn(const Figures& figures) {
  std::vector<Drawn> out;
  out.push_back({"cost", "steps of search, all", false,
                 [&](std::size_t i) { return search_cost(figures, i); }});
  out.push_back({"steps_per_request", "steps of search per request", false,
                 [&](std::size_t i) { return steps_per_request(figures, i); }});
  for (const results::Row* row : metrics()) {
    const std::size_t name = row->label.find_first_not_of(' ');
    const std::string label = row->label.substr(name == std::string::npos ? 0 : name);
    out.push_back({row->key, row->section.empty() ? label : row->section + ": " + label,
                   row->better == results::Better::higher,
                   [&figures, row](std::size_t i) { return figure(figures, i, *row); }});
  }
  return out;
}

// Rounds ratios to the precision of a plot.
results::Value round_value(const results::Value& value) {
  const auto* ratio = std::get_if<double>(&value);
  if (ratio == nullptr || *ratio == 0) return value;
  const double unit = std::pow(10, 4 - std::floor(std::log10(std::abs(*ratio))));
  return std::round(*ratio * unit) / unit;
}

// The figures that differ between points. The first two are always included.
json::array drawn_figures(const Figures& figures, const std::vector<std::size_t>& points,
                          const results::Row& metric) {
  json::array out;
  for (const Drawn& drawn : all_drawn(figures)) {
    json::array values;
    bool differs = drawn.key == metric.key || out.size() < 2;
    for (const std::size_t index : points) {
      values.push_back(report::json_of(round_value(drawn.of(index))));
      differs = differs || values.back() != values.front();
    }
    if (differs)
      out.push_back(json::object{{"key", drawn.key},
                                 {"label", drawn.label},
                                 {"higher", drawn.higher},
                                 {"values", std::move(values)}});
  }
  return out;
}

std::string data_of(const PageData& page) {
  const auto& [plan, figures, metric, rankings, all_advice] = page;
  std::vector<std::size_t> points;
  std::vector<std::uint64_t> front;
  for (const Ranking& ranking : rankings)
    for (const std::size_t index : ranking.front) front.push_back(index + 1);
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (!figures[i].empty()) points.push_back(i);
  json::array policies, numbers, captures, of_policy, at;
  for (const allocator::Policy* policy : plan.spec.policies) policies.emplace_back(policy->name);
  for (const std::size_t index : points) {
    const Point& point = plan.points[index];
    numbers.emplace_back(index + 1);
    captures.emplace_back(point.capture);
    of_policy.emplace_back(std::ranges::find(plan.spec.policies, point.policy) -
                           plan.spec.policies.begin());
  }
  for (std::size_t axis = 0; axis < plan.spec.axes.size(); ++axis)
    at.push_back(places(plan, points, axis));
  json::array advised;
  for (const Advice& advice : all_advice) advised.push_back(advice.balanced + 1);
  return report::script_json(
      json::object{{"captures", json::array(plan.spec.captures.begin(), plan.spec.captures.end())},
                   {"policies", std::move(policies)},
                   {"axes", axes(plan)},
                   {"points", json::object{{"number", std::move(numbers)},
                                           {"capture", std::move(captures)},
                                           {"policy", std::move(of_policy)},
                                           {"at", std::move(at)}}},
                   {"figures", drawn_figures(figures, points, metric)},
                   {"metric", metric.key},
                   {"front", json::array(front.begin(), front.end())},
                   {"advised", std::move(advised)}});
}

// ---- Parts of the page that need no script

report::CardLine card_line(const Plan& plan, const char* name, const results::Value& value,
                           const results::Value& balanced, std::size_t index) {
  const auto policy =
      std::ranges::find(plan.spec.policies, plan.points[index].policy) - plan.spec.policies.begin();
  return {static_cast<std::size_t>(policy) + 1, name, results::text_of(value),
          results::change_text(balanced, value)};
}

std::string card(const Plan& plan, const Figures& figures, const std::string& title,
                 std::size_t index, std::size_t balanced) {
  std::vector<report::CardLine> lines;
  const auto add = [&](const char* name, const std::function<results::Value(std::size_t)>& of) {
    lines.push_back(card_line(plan, name, of(index),
                              index == balanced ? results::Value() : of(balanced), index));
  };
  add("steps per request", [&](std::size_t i) { return steps_per_request(figures, i); });
  add("extents per file", [&](std::size_t i) { return extents_per_file(figures, i); });
  add("free extent, KB",
      [&](std::size_t i) { return figure_of(figures, i, "free_extents/avg_kb"); });
  return report::html_card(title + ": " + point_name(plan, index), lines);
}

// One card for each point that the advice names.
std::string cards(const Plan& plan, const Figures& figures, const Advice& advice) {
  std::vector<std::pair<std::size_t, std::string>> named;
  const auto name = [&](std::size_t index, const char* title) {
    const auto same = std::ranges::find(named, index, &std::pair<std::size_t, std::string>::first);
    if (same == named.end())
      named.emplace_back(index, title);
    else
      same->second += std::string(", ") + title;
  };
  if (advice.files) name(advice.balanced, "best balance");
  name(advice.cheapest, "cheapest searches");
  if (advice.files) name(advice.fewest, "fewest extents");
  if (advice.recorded) name(*advice.recorded, "recorded settings");
  name(advice.costliest, "costliest searches");
  std::string out = "<div class=\"cards\">\n";
  for (auto& [index, title] : named) {
    title[0] = static_cast<char>(std::toupper(title[0]));
    out += card(plan, figures, title, index, advice.balanced);
  }
  return out + "</div>\n";
}

std::string words(const PageData& page, const Advice& advice) {
  return fmt::format("{}", fmt::join(sentences(page.plan, page.figures, advice), " "));
}

std::string headline(const PageData& page) {
  if (page.advice.empty()) return "No point has figures to choose by.";
  if (page.advice.size() == 1) return words(page, page.advice.front());
  return fmt::format("{} points of {} captures, and what to take for each",
                     format_count(page.plan.points.size()), page.advice.size());
}

std::string summary(const PageData& page) {
  std::string out;
  for (const Advice& advice : page.advice) {
    out += fmt::format("<h3>{}</h3>\n", html_escape(page.plan.spec.captures[advice.capture]));
    if (const std::string doubt = doubt_of(page.plan, advice.capture); !doubt.empty())
      out += fmt::format("<p class=\"note\"><b>Doubtful:</b> {}</p>\n", html_escape(doubt));
    if (page.advice.size() > 1) out += fmt::format("<p>{}</p>\n", html_escape(words(page, advice)));
    out += cards(page.plan, page.figures, advice);
  }
  return out +
         "<p class=\"note\">A step is a group considered or an extent examined. Best balance: the "
         "least product of extents and of what a request costs, itself counted as one step. "
         "Changes are against the best balance; a free extent's size is the average.</p>\n";
}

std::string table_head(const Plan& plan, const results::Row& metric) {
  std::string out = "<thead><tr><th>policy</th><th>point</th>";
  for (const Axis& axis : plan.spec.axes)
    out += fmt::format("<th>{}</th>", html_escape(axis.tunable->name));
  return out + fmt::format(
                   "<th>{}</th><th>steps per request</th><th>extents per file</th></tr>"
                   "</thead>\n",
                   html_escape(metric.key));
}

std::string table_row(const Plan& plan, const Figures& figures, const results::Row& metric,
                      std::size_t index, bool on_front) {
  const Point& point = plan.points[index];
  std::string out = fmt::format("<tr class=\"row\"><td>{} {}</td><td>{}</td>", on_front ? '*' : ' ',
                                html_escape(point.policy->name), format_count(index + 1));
  for (const auto& value : point.values)
    out += fmt::format("<td>{}</td>", value ? std::to_string(*value) : "–");
  for (const results::Value& value :
       {figure(figures, index, metric), steps_per_request(figures, index),
        extents_per_file(figures, index)})
    out += fmt::format("<td>{}</td>", results::text_of(value));
  return out + "</tr>\n";
}

std::string tables(const PageData& page) {
  const auto& [plan, figures, metric, rankings, advice] = page;
  std::string out;
  for (const Ranking& ranking : rankings) {
    out += fmt::format(
        "<h3>{}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"best "
        "points\"><table>\n{}<tbody>\n",
        html_escape(plan.spec.captures[ranking.capture]), table_head(plan, metric));
    std::size_t rows = 0;
    for (const std::size_t index : ranking.order) {
      const bool on_front = std::ranges::binary_search(ranking.front, index);
      if (++rows <= kMostRows || on_front) out += table_row(plan, figures, metric, index, on_front);
    }
    out += "</tbody></table></div>\n";
    if (rows > kMostRows)
      out += fmt::format("<p class=\"note\">The first {}, and those marked, of {}.</p>\n",
                         kMostRows, format_count(rows));
  }
  return out +
         "<p class=\"note\">*: no other point beats it in steps without losing in extents of "
         "files, or the other way round.</p>\n";
}

std::string select(std::string_view id, std::string_view label) {
  return fmt::format("<label>{} <select id=\"{}\"></select></label>\n", label, id);
}

std::string plots(const Plan& plan) {
  std::string out = "<div class=\"controls\">\n" + select("capture", "Capture") +
                    "<span id=\"fixed\"></span></div>\n<h2>Along one tunable</h2>\n";
  if (plan.spec.axes.size() > 1)
    out +=
        "<p class=\"note\">Where other tunables are left open, the best point of each place."
        "</p>\n<div class=\"controls\">" +
        select("along", "Along") + "</div>\n";
  out += "<div class=\"pair\">\n";
  out += "<figure><figcaption>" + select("figure-a", "") +
         "</figcaption><div class=\"plot\" id=\"line-a\"></div></figure>\n" +
         "<figure><figcaption>" + select("figure-b", "") +
         "</figcaption><div class=\"plot\" id=\"line-b\"></div></figure>\n</div>\n";
  if (plan.spec.axes.size() > 1)
    out += "<h2>Over two tunables</h2>\n<div class=\"controls\">" + select("figure-c", "Figure") +
           select("across", "across") + select("down", "down") + select("policy", "policy") +
           "</div>\n<div class=\"plot\" id=\"heat\"></div>\n";
  return out + "<h2>Cost of searches against pieces of files</h2>\n" +
         report::html_figure("pareto", "All points.",
                             "To the left: cheaper; further down: fewer extents. The line connects "
                             "the points that no other point beats in both.");
}

}  // namespace

std::string sweep_html(const Plan& plan, const Figures& figures, const results::Row& metric) {
  PageData page = {plan, figures, metric, rank(plan, figures, metric), {}};
  page.advice = advise(plan, figures, page.rankings);
  return report::html_page(
      {.title = fmt::format("e4replay: {} points", format_count(plan.points.size())),
       .heading = "Allocator sweep",
       .headline = headline(page),
       .summary = summary(page),
       .body = plots(plan) + "<h2>Best points</h2>\n" + tables(page),
       .data = data_of(page),
       .script = report::kSweepJs});
}

}  // namespace e4r::sweep
