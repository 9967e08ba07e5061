// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/replay_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace e4r::report {
namespace {

// Two policies that differ in one part of one row.
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

}  // namespace
}  // namespace e4r::report
