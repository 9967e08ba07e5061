// SPDX-License-Identifier: GPL-2.0-or-later
// To add a figure, one new row in the table must be enough. The row that this test adds must appear
// in every report about runs.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <boost/json.hpp>
#include <filesystem>
#include <memory>

#include "hunt/hunt.h"
#include "library/data.h"
#include "report/aged.h"
#include "report/json_parts.h"
#include "report/replay_report.h"
#include "results/rows.h"
#include "review/review.h"
#include "support/temp_dir.h"
#include "sweep/ranking.h"
#include "sweep/store.h"
#include "watch/metrics.h"

namespace e4r::results {
namespace {

namespace json = boost::json;

constexpr const char *kKey = "files/blocks_per_extent", *kLabel = "blocks per extent";

Outcome outcome(const char* policy, std::uint64_t blocks) {
  Outcome out;
  out.policy = allocator::find_policy(policy);
  out.tally.requests = 7;
  out.files = {.files = 4, .extents = 8, .blocks = blocks, .most_extents = 3, .one_extent = 1};
  return out;
}

// The two outcomes have 12.25 and 37.5 blocks per extent.
const Outcome& first() {
  static const Outcome kOutcome = outcome("legacy", 98);
  return kOutcome;
}
const Outcome& second() {
  static const Outcome kOutcome = outcome("cr1.5", 300);
  return kOutcome;
}

report::ReplayReport comparison() {
  report::ReplayReport out;
  out.trace_path = "t";
  out.recorded.emplace();
  out.kernel = report::RecordedKernel{first(), {}, "nobody counted"};
  out.runs = {first(), second()};
  return out;
}

double number_at(const json::value& document, std::string_view key) {
  const json::value* const found = report::find_at(document.as_object(), key);
  return found == nullptr ? -1 : found->to_number<double>();
}

bool has(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

// Returns the line of the text that contains the label.
std::string line_of(const std::string& text) {
  const auto at = text.find(kLabel);
  if (at == std::string::npos) return "no line";
  return text.substr(at, text.find('\n', at) - at);
}

class EveryReporter : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::size_t before = rows().size();
    add_row({.section = "files written",
             .label = std::string("  ") + kLabel,
             .key = kKey,
             .of = [](const Outcome& o) -> Value {
               if (o.files.extents == 0) return {};
               return static_cast<double>(o.files.blocks) / static_cast<double>(o.files.extents);
             },
             .better = Better::higher});
    ASSERT_EQ(rows().size(), before + 1);
  }

  // Returns a sweep whose first point has the figures of an outcome.
  static sweep::Plan plan() {
    sweep::PlanSpec spec;
    spec.captures = {"a.e4c"};
    spec.policies = {allocator::find_policy("legacy"), allocator::find_policy("cr1.5")};
    return *sweep::make_plan(std::move(spec));
  }
  static sweep::Lines lines(const sweep::Plan& plan) {
    return {sweep::point_line(plan, 0, first()), sweep::point_line(plan, 1, second())};
  }

  static review::Review reviewed() {
    review::Review out;
    out.base.policy = first().policy;
    out.with.policy = second().policy;
    review::Case& one = out.cases.emplace_back();
    one.name = "one";
    one.block_size = 4096;
    one.figures = review::figures_of(second(), first());  // more than 50 % worse
    return out;
  }

  test::TempDir dir_;
};

TEST_F(EveryReporter, ATableOfReplayHasIt) {
  const std::string line = line_of(report::replay_text(comparison()));
  EXPECT_TRUE(has(line, "12.25")) << line;
  EXPECT_TRUE(has(line, "37.50")) << line;
  EXPECT_TRUE(has(line, "+206.1 %")) << line;
}

TEST_F(EveryReporter, APageHasIt) {
  const std::string page = report::replay_html(comparison());
  const auto at = page.find(std::string(kLabel) + "</td>");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(has(page.substr(at, 200), "<td>37.50</td>")) << page.substr(at, 200);
}

TEST_F(EveryReporter, DocumentsHaveIt) {
  const json::value replay = json::parse(report::replay_json(comparison()));
  EXPECT_EQ(number_at(replay.at("recorded"), kKey), 12.25);
  EXPECT_EQ(number_at(replay.at("runs").at(1), kKey), 37.5);
  report::ReplayReport verified = comparison();
  verified.runs[0].agreement.emplace();
  EXPECT_EQ(number_at(json::parse(report::replay_json(verified)).at("runs").at(0), kKey), 12.25);
  report::AgedReport aged;
  aged.end = first();
  aged.end.aged.emplace();
  EXPECT_EQ(number_at(json::parse(report::aged_json(aged)), kKey), 12.25);
}

TEST_F(EveryReporter, LinesAndTablesOfASweepHaveIt) {
  const sweep::Plan all = plan();
  const sweep::Lines made = lines(all);
  EXPECT_EQ(number_at(json::parse(made[1]), kKey), 37.5);
  const sweep::Figures figures = sweep::figures_of(made);
  EXPECT_EQ(sweep::figure_of(figures, 0, kKey), Value(12.25));
  const std::string csv = sweep::points_csv(all, figures);
  EXPECT_TRUE(has(csv.substr(0, csv.find('\n')), kKey)) << csv;
  EXPECT_TRUE(has(csv, ",37.5\n")) << csv;
}

TEST_F(EveryReporter, ADatabaseOfASweepHasIt) {
  const sweep::Plan all = plan();
  const std::string path = dir_.file("points.sqlite");
  ASSERT_TRUE(sweep::write_sqlite(path, all, sweep::figures_of(lines(all))).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  double most = 0;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<double*>(to) = std::stod(values[0]);
    return 0;
  };
  const std::string question = "SELECT max(\"" + std::string(kKey) + "\") FROM points";
  EXPECT_EQ(sqlite3_exec(db, question.c_str(), take, &most, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(most, 37.5);
}

TEST_F(EveryReporter, ASweepRanksByIt) {
  const sweep::Plan all = plan();
  const sweep::Figures figures = sweep::figures_of(lines(all));
  const auto metric = sweep::find_metric(kKey);
  ASSERT_TRUE(metric.ok());
  EXPECT_EQ(sweep::rank(all, figures, **metric).front().order, (std::vector<std::size_t>{1, 0}));
  EXPECT_TRUE(has(sweep::ranking_text(all, figures, **metric, 0), kKey));
  EXPECT_EQ(json::parse(sweep::summary_json(all, figures, **metric)).at("best_by"), kKey);
}

TEST_F(EveryReporter, AReviewHasIt) {
  const review::ReviewOrigin origin = {"e4replay 1", {"e4replay", "review"}};
  const review::Review review = reviewed();
  const std::string mail = review::review_text(review, origin);
  EXPECT_TRUE(has(mail, std::string(kLabel) + ": worse in 1 of 1, -67.3 % in one")) << mail;
  EXPECT_TRUE(has(review::review_html(review, origin), kLabel));
  const json::value document = json::parse(review::review_json(review, origin));
  EXPECT_EQ(document.at("worse").at(0).at("key"), kKey);
}

TEST_F(EveryReporter, AHuntMakesItWorse) {
  const auto objective = hunt::find_objective(kKey);
  ASSERT_TRUE(objective.ok());
  hunt::Trial trial;
  trial.base = second();
  trial.with = first();
  ASSERT_TRUE(hunt::measure(**objective, trial));
  EXPECT_GT(trial.score, 1);
  EXPECT_NEAR(trial.times(), 3.06, 0.01);
  EXPECT_TRUE(has(hunt::find_objective("nothing").error().message, kKey));
}

TEST_F(EveryReporter, TheLibraryHasIt) {
  const e4replay::Report report = e4replay::Access::report(comparison(), false);
  EXPECT_EQ(report.value(kKey, 2), e4replay::Value(37.5));
  const std::vector<e4replay::Row> rows = report.rows();
  ASSERT_EQ(rows.back().key, kKey);
  EXPECT_EQ(rows.back().label, std::string("  ") + kLabel);
  EXPECT_EQ(rows.back().better, e4replay::Better::higher);
  EXPECT_EQ(rows.back().values[1], e4replay::Value(12.25));
}

TEST_F(EveryReporter, MetricsHaveIt) {
  auto picture = std::make_shared<watch::Picture>();
  watch::Column& column = picture->columns.emplace_back();
  column.name = "recorded";
  column.windows.fill(first());
  watch::Report report;
  report.starts = 1;
  report.picture = picture;
  watch::Metrics metrics("1");
  metrics.add(report);
  const std::string text = exposition(metrics.families(), watch::Exposition::prometheus);
  EXPECT_TRUE(has(text,
                  "# HELP e4replay_files_blocks_per_extent files written: blocks per extent\n"
                  "# TYPE e4replay_files_blocks_per_extent gauge\n"
                  "e4replay_files_blocks_per_extent{device=\"\",mountpoint=\"\",allocator="
                  "\"recorded\"} 12.25\n"))
      << text;
}

}  // namespace
}  // namespace e4r::results
