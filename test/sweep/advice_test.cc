// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/ranking.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <utility>
#include <vector>

namespace e4r::sweep {
namespace {

namespace json = boost::json;

// Plans points of one or two captures. Each point has 100 requests and ten files.
class AdviceTest : public ::testing::Test {
 protected:
  void plan(const std::vector<std::string>& axes, std::vector<std::string> captures = {"a.e4c"}) {
    PlanSpec spec;
    spec.captures = std::move(captures);
    spec.policies = {allocator::find_policy("cr1.5")};
    for (const std::string& axis : axes) spec.axes.push_back(*parse_axis(axis));
    plan_ = *make_plan(std::move(spec));
    figures_.assign(plan_.points.size(), {});
  }
  void set(std::size_t index, std::uint64_t steps, std::uint64_t extents) {
    figures_[index].resize(results::rows().size());
    put(index, "requests", std::uint64_t{100});
    put(index, "mb_stats/extents_scanned", steps);
    put(index, "groups_considered", std::uint64_t{0});
    put(index, "files/extents", extents);
    put(index, "files/avg_extents", static_cast<double>(extents) / 10);
  }
  // Plans a point for each pair of steps and extents. The points have the values 0, 1, ... of
  // mb_order2_req.
  void points(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& all) {
    plan({fmt::format("mb_order2_req=0..{}", all.size() - 1)});
    for (std::size_t i = 0; i < all.size(); ++i) set(i, all[i].first, all[i].second);
  }
  void put(std::size_t index, std::string_view key, const results::Value& value) {
    const auto at = static_cast<std::size_t>(results::find_row(key) - results::rows().data());
    figures_[index][at] = value;
  }
  std::string words(std::size_t capture = 0) {
    std::string out;
    for (const std::string& one : sentences(plan_, figures_, advise(plan_, figures_)[capture]))
      out += one + "\n";
    return out;
  }
  json::value page_data() {
    const std::string page = sweep_html(plan_, figures_, **find_metric("files/extents"));
    const std::string_view opening = "id=\"data\">";
    const std::size_t from = page.find(opening) + opening.size();
    return json::parse(std::string_view(page).substr(from, page.find("</script>", from) - from));
  }

  Plan plan_;
  Figures figures_;
};

TEST_F(AdviceTest, CheapestFewestAndBalanced) {
  plan({"mb_order2_req=0..4"});
  set(0, 10, 40);     // 110 x 40: the cheapest
  set(1, 50, 20);     // 150 x 20
  set(2, 100, 12);    // 200 x 12: the smallest product
  set(3, 10000, 10);  // the fewest extents
  plan_.recorded_by_capture.emplace_back().mb_order2_req = 3;
  set(4, 20000, 11);  // the most expensive; the previous point has fewer steps and fewer extents
  const auto all = advise(plan_, figures_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].cheapest, 0u);
  EXPECT_EQ(all[0].fewest, 3u);
  EXPECT_EQ(all[0].balanced, 2u);
  EXPECT_EQ(all[0].costliest, 4u);
  EXPECT_EQ(all[0].points, 5u);
  EXPECT_EQ(all[0].as_good, 0u);
  EXPECT_EQ(words(),
            "The best balance of 5 points is cr1.5 with mb_order2_req=2: 1.00 steps of search per "
            "request and 1.20 extents per file, 99.0 % fewer steps than cr1.5 with the recorded "
            "settings.\n"
            "Searches are cheapest under cr1.5 with mb_order2_req=0: 0.10 steps of search per "
            "request and 4.00 extents per file.\n"
            "Files lie in fewest extents under cr1.5 with mb_order2_req=3: 100.00 steps of search "
            "per request and 1.00 extents per file.\n");
}

// A point whose searches take no step is not better if it has many more extents.
TEST_F(AdviceTest, NoStepsAtAllAreNotWorthManyExtents) {
  points({{0, 20}, {5, 10}});
  EXPECT_EQ(advise(plan_, figures_)[0].balanced, 1u);
}

TEST_F(AdviceTest, OneThatIsBestInBothIsSaidOnce) {
  points({{10, 10}, {10, 10}, {30, 12}});
  plan_.recorded_by_capture.emplace_back().mb_order2_req = 2;
  EXPECT_EQ(words(),
            "Of 3 points, the cheapest in searches leaves files in fewest extents too: cr1.5 with "
            "mb_order2_req=0 (another point equals it): 0.10 steps of search per request and 1.00 "
            "extents per file, 66.7 % fewer steps than cr1.5 with the recorded settings.\n");
}

TEST_F(AdviceTest, AChangeThatIsHardlyOneIsNotNone) {
  points({{9999999, 10}, {10000000, 10}, {20000000, 12}});
  plan_.recorded_by_capture.emplace_back().mb_order2_req = 1;
  EXPECT_NE(words().find(", less than 0.1 % fewer steps than cr1.5 with the recorded settings."),
            std::string::npos)
      << words();
}

// If points are equal, the advice names the recorded value or else the default, because a change
// would have no effect.
TEST_F(AdviceTest, OfEqualPointsTheRecordedValueIsNamedAndThenTheDefault) {
  plan({"mb_max_to_scan=50..400:50", "mb_order2_req=0..3"});
  for (std::size_t i = 0; i < plan_.points.size(); ++i) set(i, i < 4 ? 30 : 10, 10);
  plan_.recorded_by_capture.emplace_back().mb_max_to_scan = 300;
  plan_.recorded_by_capture.back().mb_order2_req = 1;
  const auto named = [&] { return point_name(plan_, advise(plan_, figures_)[0].balanced); };
  EXPECT_EQ(named(), "cr1.5 with mb_max_to_scan=300 mb_order2_req=1");
  EXPECT_EQ(words(),
            "Of 32 points, the cheapest in searches leaves files in fewest extents too: cr1.5 with "
            "mb_max_to_scan=300 mb_order2_req=1 (27 other points equal it): 0.10 steps of search "
            "per request and 1.00 extents per file.\n");
  plan_.recorded_by_capture[0].mb_max_to_scan =
      17;  // no point has this value, so the defaults are used
  EXPECT_EQ(named(), "cr1.5 with mb_max_to_scan=200 mb_order2_req=1");
  plan_.recorded_by_capture.clear();
  EXPECT_EQ(named(), "cr1.5 with mb_max_to_scan=200 mb_order2_req=2");
}

TEST_F(AdviceTest, WithoutTheRecordedSettingsThereIsNoComparison) {
  points({{10, 10}, {40, 12}});
  plan_.recorded_by_capture.emplace_back().mb_order2_req = 5;
  EXPECT_FALSE(advise(plan_, figures_)[0].recorded);
  EXPECT_EQ(words().find("recorded settings"), std::string::npos);
  plan_.recorded_by_capture[0].mb_order2_req = 1;
  EXPECT_EQ(advise(plan_, figures_)[0].recorded, 1u);
}

TEST_F(AdviceTest, SaysWhenNothingMakesADifference) {
  points({{50, 10}, {50, 10}, {50, 10}});
  EXPECT_EQ(words(),
            "Nothing that was tried makes a difference to searches or files: 0.50 steps of search "
            "per request and 1.00 extents per file.\n");
}

// All files were removed, so there is no layout to judge.
TEST_F(AdviceTest, WithoutFilesSearchesAloneAreAdvisedOn) {
  plan({"mb_order2_req=0..3"});
  const auto set_gone = [&](std::size_t index, std::uint64_t steps) {
    set(index, steps, 0);
    put(index, "files/avg_extents", {});
  };
  set_gone(0, 80);
  set_gone(1, 30);
  set_gone(2, 10);
  set_gone(3, 20);
  plan_.recorded_by_capture.emplace_back().mb_order2_req = 0;
  EXPECT_EQ(words(),
            "No file is left at the end, so searches alone count. Of 4 points, they are cheapest "
            "under cr1.5 with mb_order2_req=2: 0.10 steps of search per request, 87.5 % fewer "
            "steps than cr1.5 with the recorded settings.\n");
  const Advice advice = advise(plan_, figures_)[0];
  EXPECT_EQ(advice.balanced, 2u);
  EXPECT_EQ(advice.fewest, 2u);
  EXPECT_EQ(sweep_html(plan_, figures_, **find_metric("files/extents")).find(", fewest extents"),
            std::string::npos);
  // Among points with equal extents, the cheapest one must be at the top of the table. It is not
  // the first point.
  EXPECT_EQ(rank(plan_, figures_, **find_metric("files/extents"))[0].order,
            (std::vector<std::size_t>{2, 3, 1, 0}));
  for (std::size_t i = 0; i < 4; ++i) set_gone(i, 50);
  EXPECT_EQ(words(),
            "Nothing that was tried makes a difference to searches, and no file is left: 0.50 "
            "steps of search per request.\n");
}

// A point that leaves no files does not count as the point with the fewest extents.
TEST_F(AdviceTest, APointThatLeavesNoFileIsNoAnswerWhereOthersLeaveSome) {
  points({{10, 0}, {20, 15}, {30, 10}});
  const Advice advice = advise(plan_, figures_)[0];
  EXPECT_EQ(advice.points, 2u);
  EXPECT_EQ(advice.cheapest, 1u);
  EXPECT_EQ(advice.fewest, 2u);
}

TEST_F(AdviceTest, PointsWithoutFiguresCountForNothing) {
  plan({"mb_order2_req=0..3"});
  set(1, 10, 10);
  set(2, 20, 20);
  set(3, 5, 5);
  put(3, "requests", std::monostate());  // on the Pareto front, but without a product
  const auto all = advise(plan_, figures_);
  ASSERT_EQ(all.size(), 0u);
  put(3, "files/extents", std::monostate());
  ASSERT_EQ(advise(plan_, figures_).size(), 1u);
  EXPECT_EQ(advise(plan_, figures_)[0].points, 2u);
}

TEST_F(AdviceTest, TunablesThatThePolicyHasNotAreNotNamed) {
  PlanSpec spec;
  spec.captures = {"a"};
  spec.policies = {allocator::find_policy("legacy"), allocator::find_policy("cr1.5")};
  spec.axes = {*parse_axis("mb_cr1_5_max_trim_order=2"), *parse_axis("mb_order2_req=3")};
  plan_ = *make_plan(std::move(spec));
  EXPECT_EQ(point_name(plan_, 0), "legacy with mb_order2_req=3");
  EXPECT_EQ(point_name(plan_, 1), "cr1.5 with mb_cr1_5_max_trim_order=2 mb_order2_req=3");
}

TEST_F(AdviceTest, PageHoldsWhatIsDrawn) {
  plan({"mb_order2_req=1,4", "mb_max_to_scan=10,20"}, {"a", "b"});
  for (std::size_t i = 0; i < 8; ++i)
    if (i != 5) set(i, 10 * i, 100 - i);
  const json::value data = page_data();
  EXPECT_EQ(data.at("captures"), json::parse(R"(["a","b"])"));
  const json::value& points = data.at("points");
  EXPECT_EQ(points.at("number"), json::parse("[1,2,3,4,5,7,8]"));
  EXPECT_EQ(points.at("capture"), json::parse("[0,0,0,0,1,1,1]"));
  EXPECT_EQ(points.at("at"), json::parse("[[0,0,1,1,0,1,1],[0,1,0,1,0,0,1]]"));
  EXPECT_EQ(data.at("axes").at(0).at("values"), json::parse("[1,4]"));
  const json::value& cost = data.at("figures").at(0);
  EXPECT_EQ(cost.at("key"), "cost");
  EXPECT_EQ(cost.at("values"), json::parse("[0,10,20,30,40,60,70]"));
  EXPECT_EQ(data.at("front"), json::parse("[1,2,3,4,5,7,8]"));
}

TEST_F(AdviceTest, NamesOnThePageStayText) {
  const std::string name = "</title></script><script>alert(1)</script>\"<img src=x>";
  const auto tags = [&](const std::string& capture) {
    plan({"mb_order2_req=1,4"}, {capture});
    set(0, 10, 20);
    set(1, 20, 10);
    const std::string page = sweep_html(plan_, figures_, **find_metric("files/extents"));
    std::size_t n = 0;
    for (const char* tag : {"<script", "</script", "<img", "</title"})
      for (auto at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(tags(name), tags("plain"));
}

TEST_F(AdviceTest, NothingFinishedIsSaid) {
  plan({"mb_order2_req=1,4"});
  EXPECT_NE(sweep_html(plan_, figures_, **find_metric("files/extents"))
                .find("No point has figures to choose by."),
            std::string::npos);
}

}  // namespace
}  // namespace e4r::sweep
