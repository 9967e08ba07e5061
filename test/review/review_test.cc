// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/review.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <sstream>

#include "review/words.h"

namespace e4r::review {
namespace {

using results::Better;
using results::Outcome;

Figure figure(Better better, results::Value base, results::Value with) {
  static const std::vector<results::Row> kRows = {
      {.better = Better::none}, {.better = Better::lower}, {.better = Better::higher}};
  return {&kRows[static_cast<std::size_t>(better)], base, with};
}

constexpr std::uint64_t kOne = 1, kTwo = 2;

TEST(ReviewFigure, ChangesTheWayThatIsBetter) {
  EXPECT_EQ(change_of(figure(Better::lower, kTwo, kOne)), Change::better);
  EXPECT_EQ(change_of(figure(Better::lower, kOne, kTwo)), Change::worse);
  EXPECT_EQ(change_of(figure(Better::higher, kTwo, kOne)), Change::worse);
  EXPECT_EQ(change_of(figure(Better::higher, 0.5, 0.75)), Change::better);
  EXPECT_EQ(change_of(figure(Better::lower, kOne, kOne)), Change::same);
  EXPECT_EQ(change_of(figure(Better::none, kOne, kTwo)), Change::unknown);
  EXPECT_EQ(change_of(figure(Better::lower, kOne, {})), Change::unknown);
  EXPECT_EQ(change_of(figure(Better::lower, {}, kOne)), Change::unknown);
}

TEST(ReviewFigure, SizesCountFromTheBase) {
  EXPECT_DOUBLE_EQ(size_of(figure(Better::lower, kTwo, kOne)), 0.5);
  EXPECT_DOUBLE_EQ(size_of(figure(Better::lower, kOne, kTwo)), 1);
  EXPECT_EQ(size_of(figure(Better::lower, kOne, kOne)), 0);
  EXPECT_TRUE(std::isinf(size_of(figure(Better::lower, std::uint64_t{0}, kOne))));
  EXPECT_EQ(size_of(figure(Better::lower, std::uint64_t{0}, std::uint64_t{0})), 0);
  EXPECT_EQ(size_of(figure(Better::lower, {}, kOne)), 0);
}

Outcome outcome(std::uint64_t scanned, std::uint64_t extents) {
  Outcome out;
  out.tally.requests = 1000;
  out.searches[mb::Criterion::cr1].hits = 10;
  out.searches[mb::Criterion::cr1].groups_considered = 5;
  out.searches.extents_scanned = scanned;
  out.files = {.files = 10,
               .extents = extents,
               .blocks = 1000,
               .most_extents = extents,
               .one_extent = 5,
               .best_extents = 10};
  out.layout.successors = 990;
  out.layout.following = 900;
  out.free.extents.add(0, 100);
  return out;
}

// Returns the row of a review by its key.
const results::Row* row_of(std::string_view key) {
  return results::find_row(key, results::Reporter::review);
}

TEST(ReviewFigures, AreThoseOfBothSides) {
  const std::vector<Figure> figures = figures_of(outcome(100, 20), outcome(150, 20));
  std::size_t worse = 0;
  for (const Figure& one : figures) {
    EXPECT_LE(one.row->label.size(), 22u) << one.row->label;
    if (change_of(one) == Change::worse) {
      ++worse;
      EXPECT_EQ(one.row->key, "extents_scanned");
    }
    // These rows must not appear: the time of decisions, because models are not timed, and hits of
    // CR2, because no search reached it.
    EXPECT_FALSE(one.row->key.starts_with("decision_ns")) << one.row->key;
    EXPECT_NE(one.row->key, "hits/cr2");
    // For e4defrag, 10 extra extents in 1,000 blocks are 1 %, which gives a score of 8.
    if (one.row->key == "files/e4defrag_score") {
      EXPECT_DOUBLE_EQ(std::get<double>(one.base), 8);
    }
    if (one.row->key == "free_extents/max_kb") {
      EXPECT_EQ(std::get<std::uint64_t>(one.base), 400u);
    }
  }
  EXPECT_EQ(worse, 1u);
}

TEST(ReviewFigures, HaveSearchesThatEndedPastTheLastCriterion) {
  const auto label = [](std::string_view key, const std::vector<Figure>& figures) {
    const auto found = std::ranges::find(
        figures, key, [](const Figure& figure) -> std::string_view { return figure.row->key; });
    return found == figures.end() ? std::string() : found->row->label;
  };
  const Outcome base = outcome(100, 20);
  EXPECT_EQ(label("hits/past_cr3", figures_of(base, base)), "");
  Outcome with = base;
  with.searches[mb::Criterion::past_last].hits = 138;
  EXPECT_EQ(label("hits/past_cr3", figures_of(base, with)), "hits past CR3");
}

TEST(ReviewFigures, OfNothingAreNone) {
  Outcome aged;
  aged.aged.emplace();
  const std::vector<Figure> figures = figures_of(aged, aged);
  for (const Figure& one : figures) {
    EXPECT_NE(one.row->key, "files/avg_extents");
    EXPECT_NE(one.row->key, "files/e4defrag_score");
    EXPECT_NE(one.row->key, "failed");
  }
}

// Returns a review of two cases with hostile file names.
Review hostile() {
  static const allocator::Policy* const legacy = allocator::find_policy("legacy");
  Review out;
  out.base = {legacy, {"mb_max_to_scan=1"}};
  out.with = {allocator::find_policy("cr1.5"), {}};
  Case one;
  one.name = std::string(100, 'n') + "\x1b[31m\n<script>";
  one.where = one.name;
  one.kernel = "6.1.192-" + std::string(50, 'k');
  one.bytes = std::uint64_t{1} << 40;
  one.block_size = 4096;
  one.decisions = 1'000'000;
  one.followed = 999'999;
  const Outcome base = outcome(100, 20), with = outcome(123'456'789'012, 1020);
  one.figures = figures_of(base, with);
  one.free_base = base.free.extents;
  one.free_with = with.free.extents;
  out.cases.push_back(one);
  one.figures = figures_of(outcome(0, 20), outcome(7, 20));
  out.cases.push_back(one);
  one.refused = "a reason of many words " + std::string(60, 'w') + " and \x1b[0m</p>";
  out.cases.push_back(one);
  return out;
}

TEST(Review, TellsTheLargestChangeFirst) {
  const Review review = hostile();
  const std::vector<CaseFigure> worse = list_changed(review, Change::worse);
  ASSERT_GE(worse.size(), 3u);
  EXPECT_EQ(worse.front().of, 1u);  // the base's value is 0
  for (std::size_t i = 1; i < worse.size(); ++i)
    EXPECT_GE(size_of(review.cases[worse[i - 1].of].figures[worse[i - 1].figure]),
              size_of(review.cases[worse[i].of].figures[worse[i].figure]));
  EXPECT_TRUE(list_changed(review, Change::better).empty());
}

// Returns a review with one case for each pair of values of extents per file.
Review of_extents(const std::vector<std::pair<double, double>>& values) {
  Review out = hostile();
  const Case first = out.cases.front();
  out.cases.clear();
  for (const auto& [base, with] : values) {
    Case one = first;
    one.name = fmt::format("case-{}", out.cases.size());
    one.figures = {{row_of("files/avg_extents"), base, with},
                   {row_of("files/extents"), base, with}};
    out.cases.push_back(one);
  }
  return out;
}

TEST(Review, TellsALineAFigureOverAllCases) {
  const Review review = of_extents({{10, 11}, {10, 15}, {10, 10}, {10, 9}, {10, 12}});
  const std::vector<Summary> all = summaries(review);
  ASSERT_EQ(all.size(), 1u) << "the same figure under another name";
  EXPECT_EQ(all[0].cases, 5u);
  EXPECT_EQ(all[0].worse.count, 3u);
  EXPECT_EQ(all[0].better.count, 1u);
  EXPECT_EQ(way_text(review, all[0], Change::worse),
            "worse in 3 of 5, median +20.0 %, most +50.0 % in case-1; better in 1");
  EXPECT_EQ(way_text(review, all[0], Change::better),
            "better in 1 of 5, -10.0 % in case-3; worse in 3");
  const std::string text = review_text(review, {"e4replay 1", {"a"}});
  const std::size_t line = text.find("extents per file: worse in 3 of 5"),
                    at = text.find("case-1 ");
  EXPECT_LT(line, at) << text;
  EXPECT_EQ(text.find("extents of files"), std::string::npos);
  const auto doc = boost::json::parse(review_json(review, {"e4replay 1", {"a"}}));
  const auto& summary = doc.at("summary").at(0);
  EXPECT_EQ(summary.at("key").as_string(), "files/avg_extents");
  EXPECT_NEAR(summary.at("worse").at("median_percent").to_number<double>(), 20, 1e-9);
  EXPECT_EQ(summary.at("worse").at("most").at("name").as_string(), "case-1");
}

TEST(Review, OneFigureDoesNotFillTheList) {
  Review review = of_extents(std::vector<std::pair<double, double>>(40, {10, 20}));
  review.cases.back().figures.push_back({row_of("extents_scanned"), 100.0, 102.0});
  const std::vector<CaseFigure> some = list_largest(review, Change::worse);
  ASSERT_EQ(some.size(), 6u);
  EXPECT_EQ(some.back().of, 39u);
  EXPECT_EQ(some.back().figure, 2u);
  EXPECT_NE(review_text(review, {"e4replay 1", {"a"}}).find("and 35 more of these figures, below"),
            std::string::npos);
}

TEST(Review, OfThoseFromNothingTheLargestIsFirst) {
  const Review review = of_extents({{0, 1}, {0, 700}, {10, 1000}});
  const std::vector<Summary> all = summaries(review);
  EXPECT_EQ(way_text(review, all[0], Change::worse),
            "worse in 3 of 3, median from 0 to 1.00, most from 0 to 700.00 in case-1");
}

TEST(Review, TimesOfCasesAlikeAreTheBandOfTheOthers) {
  Review review = of_extents({{10, 11}, {10, 11}, {10, 11}});
  const auto time = [](double base, double with) {
    return Figure{row_of("decision_ns/mean"), base, with};
  };
  for (std::size_t i = 0; i < 2; ++i) {
    review.cases[i].alike = true;
    review.cases[i].figures.clear();
    review.cases[i].alike_times = {time(100, i == 0 ? 104 : 80)};
  }
  review.cases[2].figures = {time(100, 120)};
  conclude(review);
  ASSERT_EQ(review.bands.size(), 1u);
  EXPECT_EQ(review.bands[0].cases, 2u);
  EXPECT_DOUBLE_EQ(review.bands[0].width, 0.25);
  EXPECT_TRUE(review.timed);
  EXPECT_EQ(change_of(review.cases[2].figures[0]), Change::same);
  EXPECT_EQ(change_text(review.cases[2].figures[0]), "noise");
  EXPECT_TRUE(list_changed(review, Change::worse).empty());
  review.cases[2].figures = {time(100, 130)};
  conclude(review);
  EXPECT_EQ(list_changed(review, Change::worse).size(), 1u);
  EXPECT_EQ(change_of(time(100, 77)), Change::better) << "a figure of its own has no noise";
}

TEST(ReviewFigure, ChangesByMoreThanLuck) {
  Figure lucky = {row_of("extents_scanned"), std::uint64_t{100}, std::uint64_t{104}};
  ASSERT_FALSE(is_time(lucky));
  EXPECT_EQ(luck_text(lucky), "");
  lucky.noise = 0.03;
  EXPECT_EQ(change_of(lucky), Change::worse);
  EXPECT_EQ(change_text(lucky) + luck_text(lucky), "+4.0 % ±3.0");
  EXPECT_NEAR(figure_json(lucky).at("luck_percent").to_number<double>(), 3, 1e-9);
  EXPECT_FALSE(figure_json(lucky).contains("noise_percent"));
  lucky.noise = 0.04;
  EXPECT_EQ(change_of(lucky), Change::same);
  EXPECT_EQ(change_text(lucky) + luck_text(lucky), "luck ±4.0");

  Review review = of_extents({{10, 11}, {10, 11}});
  review.cases[0].figures = {lucky};
  EXPECT_NE(summary_text(review).find("In 1 capture, requests of several writers overlap"),
            std::string::npos);
  EXPECT_EQ(list_changed(review, Change::worse).size(), 1u) << "that of the other case";
}

TEST(Review, EqualCaveatsAreOne) {
  Review review = of_extents({{10, 11}, {10, 12}, {10, 13}});
  review.cases[0].caveats = {"begins without"};
  review.cases[2].caveats = {"begins without", "follows 98 %"};
  conclude(review);
  ASSERT_EQ(review.caveats.size(), 2u);
  EXPECT_EQ(review.caveats[0].of, (std::vector<std::size_t>{0, 2}));
  const std::string text = review_text(review, {"e4replay 1", {"a"}});
  EXPECT_NE(text.find("begins without (in 2: case-0, case-2)\n"), std::string::npos) << text;
  const auto doc = boost::json::parse(review_json(review, {"e4replay 1", {"a"}}));
  EXPECT_EQ(doc.at("caveats").at(0).at("cases").as_array().size(), 2u);
  EXPECT_NE(review_html(review, {"e4replay 1", {"a"}}).find("(in 2: case-0, case-2)"),
            std::string::npos);
}

// The plot has a row for each figure and a dot for each case, in a layout that fits a phone.
TEST(Review, ThePlotHasADotForEachCase) {
  const Review review = of_extents({{10, 11}, {10, 5}, {10, 10}, {0, 10}});
  const std::string plot = plot_html(review);
  const auto count = [&plot](std::string_view what) {
    std::size_t out = 0;
    for (std::size_t at = plot.find(what); at != plot.npos; at = plot.find(what, at + 1)) ++out;
    return out;
  };
  EXPECT_EQ(count("class=\"dots\""), 1u);
  EXPECT_EQ(count("<a class=\"worse\""), 2u);
  EXPECT_EQ(count("<a class=\"better\""), 1u);
  EXPECT_EQ(count("<a class=\"same\""), 1u);
  EXPECT_EQ(count("left:98.00%"), 1u) << "from nothing";
  EXPECT_EQ(count("left:6.00%"), 1u + 1u) << "the largest, and the mark of twice as much";
  EXPECT_NE(plot.find("title=\"case-1: 10.00 to 5.00, -50.0 %\""), std::string::npos) << plot;
}

TEST(Review, TimesChangeByMoreToBeTold) {
  Review review = hostile();
  review.cases.resize(1);
  review.cases[0].figures = {{row_of("decision_ns/mean"), 100.0, 109.0}};
  EXPECT_TRUE(list_changed(review, Change::worse).empty());
  review.cases[0].figures.front().with = 111.0;
  EXPECT_EQ(list_changed(review, Change::worse).size(), 1u);
  review.cases[0].figures.front().row = row_of("extents_scanned");
  review.cases[0].figures.front().with = 102.0;
  EXPECT_EQ(list_changed(review, Change::worse).size(), 1u);
}

TEST(Review, TellsTimesLast) {
  Review review = hostile();
  review.cases.resize(1);
  review.cases[0].figures = {{row_of("decision_ns/mean"), 100.0, 300.0},
                             {row_of("extents_scanned"), 100.0, 102.0}};
  const std::vector<CaseFigure> worse = list_changed(review, Change::worse);
  ASSERT_EQ(worse.size(), 2u);
  EXPECT_EQ(worse[0].figure, 1u);
  EXPECT_EQ(worse[1].figure, 0u);
}

TEST(Review, TextHasNoLongLineAndNoControlCharacter) {
  const ReviewOrigin origin = {"e4replay 1", {"e4replay", "review", "'a b'", std::string(30, 'x')}};
  std::istringstream lines(review_text(hostile(), origin));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (line.find("nnnnnnnnnnnnnnnnnnnnnnnn") == std::string::npos) {
      EXPECT_LE(line.size(), 72u) << line;
    }
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
  EXPECT_GT(count, 40u);
}

TEST(Review, PageHasNamesAsText) {
  const std::string page = review_html(hostile(), {"e4replay 1", {"'<b>'"}});
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<b>'"), std::string::npos);
  EXPECT_EQ(page.find("</p>a"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
}

TEST(Review, DocumentHasEveryCase) {
  const auto doc = boost::json::parse(review_json(hostile(), {"e4replay 1", {"a", "b"}}));
  EXPECT_EQ(doc.at("cases").as_array().size(), 3u);
  EXPECT_EQ(doc.at("command").as_string(), "a b");
  EXPECT_TRUE(doc.at("cases").at(0).at("refused").is_null());
  EXPECT_TRUE(doc.at("cases").at(2).at("refused").is_string());
  EXPECT_EQ(doc.at("base").at("settings").at(0).as_string(), "mb_max_to_scan=1");
}

TEST(ReviewWords, NeverSayAllOfFewer) {
  Case one;
  EXPECT_EQ(followed_text(one), "-");
  one.decisions = one.followed = 10;
  EXPECT_EQ(followed_text(one), "100 %");
  one.decisions = 1'000'000;
  one.followed = 999'999;
  EXPECT_EQ(followed_text(one), "99.999 %");
  one.followed = 0;
  EXPECT_EQ(followed_text(one), "0.000 %");
}

TEST(ReviewWords, RangesAreThoseOfE2freefrag) {
  EXPECT_EQ(range_text(1, 4096), "   4K...    8K-");
  EXPECT_EQ(range_text(9, 4096), "   1M...    2M-");
  EXPECT_EQ(range_text(1, 1024), "   1K...    2K-");
}

}  // namespace
}  // namespace e4r::review
