// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>

#include "json/text.h"
#include "report/json_parts.h"
#include "review/json_parts.h"
#include "review/review.h"

namespace e4r::review {
namespace {

namespace json = boost::json;

std::string_view name_of(Change change) {
  switch (change) {
    case Change::same:
      return "same";
    case Change::better:
      return "better";
    case Change::worse:
      return "worse";
    case Change::unknown:
      break;
  }
  return "none";
}

std::string_view name_of(report::Better better) {
  switch (better) {
    case report::Better::lower:
      return "lower";
    case report::Better::higher:
      return "higher";
    case report::Better::none:
      break;
  }
  return "none";
}

json::object case_json(const Case& one) {
  json::object out = {{"name", one.name},
                      {"kind", one.aged ? "aged" : "capture"},
                      {"input", one.where},
                      {"bytes", one.bytes},
                      {"block_size", one.block_size},
                      {"kernel", nullptr},
                      {"followed", nullptr},
                      {"refused", nullptr}};
  if (!one.aged) {
    out["kernel"] = one.kernel;
    out["followed"] = json::object{
        {"policy", one.recorded_policy}, {"decisions", one.decisions}, {"identical", one.followed}};
  }
  if (!one.refused.empty()) {
    out["refused"] = one.refused;
    return out;
  }
  out["alike"] = one.alike;
  json::array figures;
  for (const Figure& figure : one.figures) figures.push_back(figure_json(figure));
  out["figures"] = std::move(figures);
  const auto free = [&one](const stats::FreeExtents& of) {
    return report::free_extents_json(of, one.block_size, of.blocks);
  };
  out["free_extents"] = json::object{{"base", free(one.free_base)}, {"with", free(one.free_with)}};
  return out;
}

json::array told_json(const Review& review, Change change) {
  json::array out;
  for (const Told& one : told(review, change)) {
    const Case& of = review.cases[one.of];
    out.push_back(json::object{{"name", of.name}, {"key", of.figures[one.figure].key}});
  }
  return out;
}

}  // namespace

json::object side_json(const Side& side) {
  return {{"policy", side.policy->name},
          {"verified", !side.policy->verified.empty()},
          {"settings", json::array(side.settings.begin(), side.settings.end())}};
}

json::object figure_json(const Figure& figure) {
  return {{"key", figure.key},
          {"label", figure.label},
          {"better", name_of(figure.better)},
          {"base", report::json_of(figure.base)},
          {"with", report::json_of(figure.with)},
          {"change", name_of(change_of(figure))}};
}

std::string review_json(const Review& review, const Made& made) {
  json::object doc;
  doc["schema"] = "e4replay-review/1";
  doc["program"] = made.program;
  doc["command"] = fmt::format("{}", fmt::join(made.command, " "));
  doc["base"] = side_json(review.base);
  doc["with"] = side_json(review.with);
  doc["timed"] = review.timed;
  doc["worse"] = told_json(review, Change::worse);
  doc["better"] = told_json(review, Change::better);
  json::array cases;
  for (const Case& one : review.cases) cases.push_back(case_json(one));
  doc["cases"] = std::move(cases);
  return json_text(doc);
}

}  // namespace e4r::review
