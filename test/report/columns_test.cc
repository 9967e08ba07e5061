// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/replay_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/headline.h"

namespace e4r::report {
namespace {

// Returns a report on two policies that differ in one part of one row.
ReplayReport two_policies() {
  ReplayReport report;
  report.superblock.block_bits = 12;
  report.runs.resize(2);
  report.runs[0].policy = allocator::find_policy("legacy");
  report.runs[1].policy = allocator::find_policy("cr1.5");
  for (results::Outcome& run : report.runs) {
    run.searches.breaks = 5;
    run.searches.goal_hits = 7;
  }
  report.runs[0].free.space.chunks.count[1] = 3;
  return report;
}

std::vector<std::string> keys_of(const RowChoice& choice) {
  std::vector<std::string> out;
  for (const results::Row* row : choice.rows) out.push_back(row->key);
  return out;
}

TEST(ChooseRows, TakesWhatDiffersAndWhatIsCommon) {
  const ReplayReport report = two_policies();
  const RowChoice some = choose_rows(report, false), all = choose_rows(report, true);
  const auto keys = keys_of(some);
  const auto has = [&](const char* key) { return std::ranges::find(keys, key) != keys.end(); };
  EXPECT_TRUE(has("requests"));
  EXPECT_TRUE(has("free_space/chunks_16m"));
  EXPECT_FALSE(has("mb_stats/breaks")) << "alike";
  EXPECT_FALSE(has("free_space/chunks_1m"));
  EXPECT_EQ(all.left_out, 0u);
  EXPECT_EQ(some.left_out, all.rows.size() - some.rows.size());
}

TEST(ChooseRows, APartComesWithItsWhole) {
  ReplayReport report = two_policies();
  report.runs[0].tally.metadata = report.runs[1].tally.metadata = 4;
  report.runs[0].tally.mapping = 1;
  const auto keys = keys_of(choose_rows(report, false));
  const auto part = std::ranges::find(keys, "mapping_requests");
  ASSERT_NE(part, keys.end());
  ASSERT_NE(part, keys.begin());
  EXPECT_EQ(*(part - 1), "metadata_requests");
}

TEST(ChooseRows, WhatWasNotRecordedIsNoDifference) {
  ReplayReport report = two_policies();
  report.kernel = RecordedKernel{report.runs[0], {}, {}};
  report.kernel->run->searches = {};
  const auto keys = keys_of(choose_rows(report, false));
  EXPECT_EQ(std::ranges::find(keys, "mb_stats/breaks"), keys.end());
  report.kernel->run->searches.breaks = 6;
  const auto now = keys_of(choose_rows(report, false));
  EXPECT_NE(std::ranges::find(now, "mb_stats/breaks"), now.end());
}

// The runs in other orders differ from the first run by -10 % and by 5 %.
TEST(Luck, IsTheLargestChangeInOtherOrders) {
  ReplayReport report = two_policies();
  report.recorded_policy = "legacy";
  report.runs[0].searches.breaks = 100;
  report.runs[1].searches.breaks = 109;
  const results::Row& breaks = *results::find_row("mb_stats/breaks");
  const auto change = [&] {
    return change_text(report, breaks, values_of(breaks, columns(report)));
  };
  EXPECT_EQ(luck_text(report), "");
  EXPECT_EQ(change(), "+9.0 %");
  report.orders.resize(3, report.runs[0]);
  report.orders[0].searches.breaks = 200;
  report.orders[1].searches.breaks = 180;
  report.orders[2].searches.breaks = 210;
  EXPECT_DOUBLE_EQ(luck_of(report, breaks.of), 10);
  EXPECT_EQ(change(), "= (luck ±10.0)");
  EXPECT_EQ(luck_text(report),
            "how much a figure varies under legacy in 2 other orders of overlapping requests");
  EXPECT_NE(replay_json(report).find("\"mb_stats/breaks\": 10"), std::string::npos);
  report.orders[0].searches.breaks = report.orders[1].searches.breaks =
      report.orders[2].searches.breaks = 0;
  EXPECT_EQ(luck_of(report, breaks.of), 0) << "no share of nothing";
  EXPECT_EQ(luck_text(report),
            "no figure varies under legacy in 2 other orders of overlapping requests");
}

// Searches take 9 % more steps. Another order of the requests could cause the same change.
TEST(Luck, IsNoDifferenceInTheHeadline) {
  ReplayReport report = two_policies();
  for (results::Outcome& run : report.runs) {
    run.tally.requests = 10;
    run.searches[mb::Criterion::cr0].groups_considered = 0;
  }
  report.runs[0].searches.extents_scanned = 100;
  report.runs[1].searches.extents_scanned = 109;
  EXPECT_NE(headline(report).find("9.0\u00a0% more steps"), std::string::npos) << headline(report);
  report.orders.resize(2, report.runs[0]);
  report.orders[1].searches.extents_scanned = 90;
  EXPECT_NE(headline(report).find("as many steps"), std::string::npos) << headline(report);
}

}  // namespace
}  // namespace e4r::report
