// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/replay_report.h"
#include "report/rows.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

ReplayReport followed_report() {
  ReplayReport report;
  report.superblock.block_bits = 12;
  report.runs.resize(1);
  report.runs[0].policy = allocator::find_policy("legacy");
  report.recorded.emplace();
  report.recorded->requests = 10;
  report.recorded->identical = 10;
  return report;
}

TEST(ReplayJson, NamesTheMountOptionsThatAreNotModelled) {
  ReplayReport report = followed_report();
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), json::array());
  report.not_modelled = {{"discard", "mounted with discard: freed late"}};
  const json::array discard = {"discard"};
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), discard);
  report.runs[0].agreement.emplace();  // a verify
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), discard);
}

TEST(ReplayJson, CountsGroupsPassedOver) {
  ReplayReport report = followed_report();
  report.recorded->skips = 2;
  EXPECT_EQ(json::parse(replay_json(report)).at("recorded").at("skips"), 2);
  report.runs[0].agreement.emplace().skips = 3;
  report.runs[0].free_run.emplace().skips = 4;
  const json::value verified = json::parse(replay_json(report)).at("runs").at(0).at("agreement");
  EXPECT_EQ(verified.at("skips"), 3);
  EXPECT_EQ(verified.at("free_run").at("skips"), 4);
}

// A column of the recorded kernel, of whose searches three counters are known.
ReplayReport with_kernel() {
  ReplayReport report = followed_report();
  RunReport run;
  run.policy = report.runs[0].policy;
  run.tally.requests = 10;
  run.files.files = 4;
  run.files.extents = 6;
  run.mb_stats = {{"reqs", 10}, {"cr0_stats/hits", 3}, {"extents_scanned", 20}};
  report.kernel = RecordedKernel{run, {}, false, "mb_stats was not recorded"};
  return report;
}

TEST(ReplayJson, TheRecordedKernelHasTheKeysOfARun) {
  const ReplayReport report = with_kernel();
  const json::value document = json::parse(replay_json(report));
  const json::value& recorded = document.at("recorded");
  EXPECT_EQ(recorded.at("absent"), nullptr);
  EXPECT_EQ(recorded.at("searches_from"), "trace");
  EXPECT_EQ(recorded.at("requests"), 10);
  EXPECT_EQ(recorded.at("files").at("extents"), 6);
  EXPECT_EQ(recorded.at("mb_stats").at("cr0_stats").at("hits"), 3);
  EXPECT_FALSE(recorded.at("mb_stats").as_object().contains("goal_hits"));
  EXPECT_FALSE(recorded.as_object().contains("groups_considered"));
  EXPECT_TRUE(recorded.as_object().contains("free_extents"));
  ReplayReport by_stats = report;
  by_stats.kernel->by_mb_stats = true;
  EXPECT_EQ(json::parse(replay_json(by_stats)).at("recorded").at("searches_from"), "mb_stats");
}

TEST(ReplayJson, SaysWhyTheRecordedKernelIsAbsent) {
  ReplayReport report = followed_report();
  report.kernel = RecordedKernel{{}, "the trace closes no decision", false, {}};
  const json::value recorded = json::parse(replay_json(report)).at("recorded");
  EXPECT_EQ(recorded.at("absent"), "the trace closes no decision");
  EXPECT_FALSE(recorded.as_object().contains("files"));
  EXPECT_FALSE(recorded.as_object().contains("searches_from"));
}

TEST(Columns, BeginWithTheRecordedKernel) {
  ReplayReport report = with_kernel();
  EXPECT_EQ(first_policy(report), 1u);
  ASSERT_EQ(columns(report).size(), 2u);
  EXPECT_EQ(columns(report)[0].name, "recorded");
  EXPECT_TRUE(columns(report)[0].recorded);
  EXPECT_EQ(columns(report)[1].name, "legacy");
  report.kernel->run.reset();
  EXPECT_EQ(first_policy(report), 0u);
  EXPECT_EQ(columns(report).size(), 1u);
}

// The recorded kernel is a column more: what changes is still told of the policies.
TEST(Columns, ChangesAreAgainstTheFirstPolicy) {
  ReplayReport report = with_kernel();
  report.runs.push_back(report.runs[0]);
  report.runs[1].policy = allocator::find_policy("cr1.5");
  report.runs[0].files = {4, 100, 0, 0, 0};
  report.runs[1].files = {4, 150, 0, 0, 0};
  const std::string text = replay_text(report, false);
  EXPECT_NE(text.find("recorded  legacy  cr1.5  against legacy\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 6     100    150         +50.0 %\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace e4r::report
