// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <cmath>

#include "json/text.h"
#include "report/json_parts.h"
#include "review/review.h"

namespace e4r::review {
namespace {

namespace json = boost::json;

// Stands in place of a figure's key if the policy failed in that case.
constexpr std::string_view kFailed = "policy_failed";

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

bool with_is_more(const Figure& figure) {
  return results::number_of(figure.with).value_or(0) > results::number_of(figure.base).value_or(0);
}

std::string_view name_of(results::Better better) {
  switch (better) {
    case results::Better::lower:
      return "lower";
    case results::Better::higher:
      return "higher";
    case results::Better::none:
      break;
  }
  return "none";
}

json::object failed_json(const Case& one) {
  json::object out = {{"base", nullptr}, {"with", nullptr}};
  if (!one.failed[0].empty()) out["base"] = one.failed[0];
  if (!one.failed[1].empty()) out["with"] = one.failed[1];
  return out;
}

json::object case_json(const Case& one) {
  json::object out = {{"name", one.name},
                      {"kind", one.aged ? "aged" : "capture"},
                      {"input", one.where},
                      {"bytes", one.bytes},
                      {"block_size", one.block_size},
                      {"kernel", nullptr},
                      {"followed", nullptr},
                      {"refused", nullptr},
                      {"failed", failed_json(one)}};
  if (!one.aged) {
    out["kernel"] = one.kernel;
    json::object followed = {
        {"policy", one.recorded_policy}, {"decisions", one.decisions}, {"identical", one.followed}};
    followed["kernels_own"] = nullptr;
    if (one.kernels_own) followed["kernels_own"] = *one.kernels_own;
    out["followed"] = std::move(followed);
  }
  if (!one.refused.empty()) {
    out["refused"] = one.refused;
    return out;
  }
  out["alike"] = one.alike;
  out["repeats"] = one.repeats;
  json::array figures;
  for (const Figure& figure : one.figures) figures.push_back(figure_json(figure));
  out["figures"] = std::move(figures);
  const auto free = [&one](const stats::FreeExtents& of) {
    return report::free_extents_json(of, one.block_size);
  };
  out["free_extents"] = json::object{{"base", free(one.free_base)}, {"with", free(one.free_with)}};
  return out;
}

json::array changed_json(const Review& review, Change change) {
  json::array out;
  const Failures failures = failures_of(review);
  for (const std::size_t i : failures.of(change))
    out.push_back(json::object{{"name", review.cases[i].name}, {"key", kFailed}});
  for (const CaseFigure& one : list_changed(review, change)) {
    const Case& of = review.cases[one.of];
    out.push_back(json::object{{"name", of.name}, {"key", of.figures[one.figure].row->key}});
  }
  return out;
}

json::value change_json(const Figure& figure) {
  const double size = size_of(figure);
  if (std::isinf(size)) return nullptr;
  return 100 * (with_is_more(figure) ? size : -size);
}

json::object way_json(const Review& review, const Summary::Way& way) {
  json::object out = {{"cases", way.count}, {"median_percent", nullptr}, {"most", nullptr}};
  if (way.count == 0) return out;
  const auto figure = [&](const CaseFigure& one) -> const Figure& {
    return review.cases[one.of].figures[one.figure];
  };
  out["median_percent"] = change_json(figure(way.median));
  out["most"] = json::object{{"name", review.cases[way.most.of].name},
                             {"percent", change_json(figure(way.most))}};
  return out;
}

json::array summaries_json(const Review& review) {
  json::array out;
  for (const Summary& summary : summaries(review))
    out.push_back(json::object{{"key", summary.row->key},
                               {"label", summary.row->label},
                               {"cases", summary.cases},
                               {"worse", way_json(review, summary.worse)},
                               {"better", way_json(review, summary.better)}});
  return out;
}

json::array bands_json(const Review& review) {
  json::array out;
  for (const Band& band : review.bands)
    out.push_back(
        json::object{{"key", band.key}, {"cases", band.cases}, {"percent", 100 * band.width}});
  return out;
}

json::array caveats_json(const Review& review) {
  json::array out;
  for (const Caveat& caveat : review.caveats) {
    json::array of;
    for (const std::size_t i : caveat.of) of.push_back(json::value(review.cases[i].name));
    out.push_back(json::object{{"text", caveat.text}, {"cases", std::move(of)}});
  }
  return out;
}

}  // namespace

json::object side_json(const Side& side) {
  json::object out = {{"policy", side.policy->name},
                      {"verified", !side.policy->compared_with().empty()},
                      {"settings", json::array(side.settings.begin(), side.settings.end())}};
  if (!side.file) return out;
  out["file"] = side.file->file;
  out["crc32c"] = fmt::format("{:08x}", side.file->sum);
  if (side.file->release.empty()) return out;
  out["release"] = side.file->release;
  out["commit"] = nullptr;
  out["dirty"] = nullptr;
  if (side.file->commit.empty()) return out;
  out["commit"] = side.file->commit;
  out["dirty"] = side.file->dirty;
  return out;
}

json::object figure_json(const Figure& figure) {
  json::object out = {{"key", figure.row->key},
                      {"label", figure.row->label},
                      {"better", name_of(figure.row->better)},
                      {"base", report::json_of(figure.base)},
                      {"with", report::json_of(figure.with)},
                      {"change", name_of(change_of(figure))}};
  if (is_time(figure))
    out["noise_percent"] = 100 * figure.noise;
  else if (figure.noise > 0)
    out["luck_percent"] = 100 * figure.noise;
  return out;
}

std::string review_json(const Review& review, const ReviewOrigin& origin) {
  json::object doc;
  doc["schema"] = "e4replay-review/1";
  doc["program"] = origin.program;
  doc["command"] = fmt::format("{}", fmt::join(origin.command, " "));
  doc["base"] = side_json(review.base);
  doc["with"] = side_json(review.with);
  doc["timed"] = review.timed;
  doc["noise"] = bands_json(review);
  doc["caveats"] = caveats_json(review);
  doc["summary"] = summaries_json(review);
  doc["worse"] = changed_json(review, Change::worse);
  doc["better"] = changed_json(review, Change::better);
  json::array cases;
  for (const Case& one : review.cases) cases.push_back(case_json(one));
  doc["cases"] = std::move(cases);
  return json_text(doc);
}

}  // namespace e4r::review
