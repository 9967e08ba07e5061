// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/ranking.h"

#include <gtest/gtest.h>

#include <set>

namespace e4r::sweep {
namespace {

// Sets the cost and fragmentation of seven points of one capture, and of one point of another
// capture.
class RankingTest : public ::testing::Test {
 protected:
  RankingTest() {
    PlanSpec spec;
    spec.captures = {"a"};
    spec.policies = {allocator::find_policy("legacy")};
    spec.axes = {*parse_axis("mb_order2_req=0..7")};
    plan_ = *make_plan(std::move(spec));
    plan_.spec.captures.emplace_back("b");
    plan_.points.back().capture = 1;
    figures_.resize(8);
    set(0, 50, 50, 10);
    set(1, 10, 10, 40);    // the cheapest
    set(2, 60, 40, 11);    // as expensive as the first, with more extents
    set(3, 30, 30, 20);    // between the two
    set(4, 30, 31, 20);    // one step more than the third
    set(5, 20, 40, 20);    // equal to the fourth, but with other values of its rows
    set(6, 400, 0, 10);    // more expensive than the first, with as many extents
    set(7, 999, 999, 99);  // the only point of the other capture
  }

  void set(std::size_t index, std::uint64_t scanned, std::uint64_t considered,
           std::uint64_t extents) {
    figures_[index].resize(results::rows().size());
    put(index, "mb_stats/extents_scanned", scanned);
    put(index, "groups_considered", considered);
    put(index, "files/extents", extents);
  }
  void put(std::size_t index, std::string_view key, const results::Value& value) {
    const auto at = static_cast<std::size_t>(results::find_row(key) - results::rows().data());
    figures_[index][at] = value;
  }
  std::vector<Ranking> ranked(std::string_view metric) {
    return rank(plan_, figures_, **find_metric(metric));
  }

  Plan plan_;
  Figures figures_;
};

TEST_F(RankingTest, LowerIsBetterWhereTheRowSaysSo) {
  const auto all = ranked("mb_stats/extents_scanned");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].order, (std::vector<std::size_t>{1, 5, 3, 4, 0, 2, 6}));
  EXPECT_EQ(all[1].capture, 1u);
  EXPECT_EQ(all[1].order, std::vector<std::size_t>{7});
}

TEST_F(RankingTest, HigherIsBetterWhereTheRowSaysSo) {
  for (std::size_t i = 0; i < 7; ++i) put(i, "files/single_extent", std::uint64_t{i % 3});
  EXPECT_EQ(ranked("files/single_extent")[0].order, (std::vector<std::size_t>{5, 2, 1, 4, 3, 0, 6}))
      << "of equal ones the cheaper first";
}

TEST_F(RankingTest, WithoutTheFigureAPointComesLast) {
  put(1, "mb_stats/extents_scanned", {});
  const auto all = ranked("mb_stats/extents_scanned");
  EXPECT_EQ(all[0].order.back(), 1u);
  EXPECT_EQ(all[0].front, (std::vector<std::size_t>{0, 3, 5})) << "nothing is known of its cost";
}

TEST_F(RankingTest, FrontIsWhatNothingBeats) {
  const auto all = ranked("files/extents");
  EXPECT_EQ(all[0].front, (std::vector<std::size_t>{0, 1, 3, 5}));
  EXPECT_EQ(all[1].front, std::vector<std::size_t>{7}) << "captures are not compared";
}

TEST_F(RankingTest, FrontIsThatOfTheDefinition) {
  std::uint64_t seed = 1;
  const auto next = [&seed] {
    return (seed = seed * 6364136223846793005 + 1442695040888963407) >> 60;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> points;
    for (std::size_t i = 0; i < 7; ++i) {
      points.emplace_back(next(), next() + 1);
      set(i, points[i].first, 0, points[i].second);
    }
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < 7; ++i) {
      const auto beats = [&, i](const auto& p) {
        return p.first <= points[i].first && p.second <= points[i].second && p != points[i];
      };
      if (std::none_of(points.begin(), points.end(), beats)) front.push_back(i);
    }
    EXPECT_EQ(ranked("files/extents")[0].front, front) << "round " << round;
  }
}

TEST_F(RankingTest, TableMarksTheFrontAndAlwaysHasIt) {
  const results::Row& metric = **find_metric("files/extents");
  const std::string text = ranking_text(plan_, figures_, metric, 2);
  const auto line_of = [&text](const char* begin) {
    const auto at = text.find(begin);
    return at == std::string::npos ? "none" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line_of("a: "), "a: 7 points, by files/extents (lower is better)");
  EXPECT_NE(text.find("\n* legacy      1 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  legacy      7 "), std::string::npos) << "second best: " << text;
  EXPECT_NE(text.find("\n* legacy      2 "), std::string::npos) << "on the front: " << text;
  EXPECT_EQ(text.find("\n  legacy      5 "), std::string::npos) << text;
  EXPECT_NE(text.find("  and 2 more\n"), std::string::npos) << text;
  EXPECT_EQ(ranking_text(plan_, figures_, metric, 0).find(" more\n"), std::string::npos);
}

// Equal points share one row of the table, even if the user limits the number of rows.
TEST_F(RankingTest, EqualPointsAreOneRowWithACount) {
  for (const std::size_t i : {0, 2, 3, 4}) set(i, 50, 50, 10);
  const results::Row& metric = **find_metric("files/extents");
  const auto rows = equal_points(plan_, figures_, ranked("files/extents")[0]);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].index, 2u) << "mb_order2_req=2 is the default";
  EXPECT_EQ(rows[0].count, 4u);
  plan_.recorded_by_capture.resize(2);
  plan_.recorded_by_capture[0].mb_order2_req = 4;
  EXPECT_EQ(equal_points(plan_, figures_, ranked("files/extents")[0])[0].index, 4u);
  for (const std::size_t most : {0, 1, 20}) {
    const std::string text = ranking_text(plan_, figures_, metric, most);
    EXPECT_NE(text.find("\n* legacy      5      4 "), std::string::npos) << text;
    EXPECT_EQ(text.find(" legacy      3 "), std::string::npos) << text;
  }
}

TEST_F(RankingTest, SummaryHasFrontAndOrderByNumber) {
  const std::string text = summary_json(plan_, figures_, **find_metric("files/extents"));
  EXPECT_NE(text.find("\"best_by\": \"files/extents\""), std::string::npos);
  EXPECT_NE(text.find("\"point\": 2,\n          \"cost\": 20,\n          \"fragmentation\": 40"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("pareto\": true"), std::string::npos);
}

TEST(Metric, IsARowWithADirection) {
  ASSERT_TRUE(find_metric("groups_considered").ok());
  const auto none = find_metric("speed");
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.error().message.starts_with("no figure 'speed': choose from "))
      << none.error().message;
  EXPECT_NE(none.error().message.find("files/extents"), std::string::npos);
  const auto neither = find_metric("requests");
  ASSERT_FALSE(neither.ok());
  EXPECT_TRUE(neither.error().message.starts_with("neither direction of 'requests' is better"));
}

TEST(Metric, KeysAreEachARowsOwn) {
  std::set<std::string> keys;
  for (const results::Row& row : results::rows())
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  EXPECT_EQ(results::find_row("mb_stats/extents_scanned")->better, results::Better::lower);
  EXPECT_EQ(results::find_row("free_extents/avg_kb")->better, results::Better::higher);
  EXPECT_EQ(results::find_row("requests")->better, results::Better::none);
  EXPECT_EQ(results::find_row("nothing"), nullptr);
}

}  // namespace
}  // namespace e4r::sweep
