// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "ext4/criterion.h"
#include "util/file.h"

namespace e4r::report {
namespace {

Value whole(std::uint64_t n) {
  return n;
}

TEST(ChangeText, WhatIsRoundedToNothingHasNoSign) {
  EXPECT_EQ(change_text(whole(1028610), whole(1028578)), "0.0 %");
  EXPECT_EQ(change_text(whole(1028578), whole(1028610)), "0.0 %");
  EXPECT_EQ(change_text(57.8201, 57.82), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(9995)), "-0.1 %");
  EXPECT_EQ(change_text(whole(10000), whole(9996)), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(10006)), "+0.1 %");
}

TEST(ChangeText, SaysWhatHasNoPercent) {
  EXPECT_EQ(change_text(whole(7), whole(7)), "=");
  EXPECT_EQ(change_text(whole(0), whole(0)), "=");
  EXPECT_EQ(change_text(whole(0), whole(3)), "new");
  EXPECT_EQ(change_text(whole(4), whole(0)), "-100.0 %");
  EXPECT_EQ(change_text(whole(4), whole(50)), "x12.5");
  EXPECT_EQ(change_text(Value(), whole(4)), "");
  EXPECT_EQ(change_text(whole(4), Value()), "");
}

// A criterion is a row of one table: nobody has to think of the reports.
TEST(Rows, EveryCriterionHasItsOwn) {
  for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
    for (const char* counter :
         {"hits", "groups_considered", "extents_scanned", "useless_loops", "bad_suggestions"}) {
      const Row* row = find_row(fmt::format("mb_stats/{}/{}", criterion.section, counter));
      ASSERT_NE(row, nullptr) << criterion.name << " " << counter;
      EXPECT_EQ(row->label, fmt::format("  {}", criterion.title));
    }
    const Row* time = find_row(fmt::format("decision_ns/{}", criterion.key));
    ASSERT_NE(time, nullptr) << criterion.name;
    EXPECT_EQ(time->label, fmt::format("  mean, {}", criterion.title));
  }
}

// Of each counter, what one criterion has shows in its row and in no other's.
TEST(Rows, ShowTheirOwnCriterion) {
  ReplayReport report;
  RunReport run;
  std::uint64_t value = 1;
  for (const mb::CriterionRow& criterion : mb::ladder_criteria())
    run.mb_stats.push_back({stats::stat_name(criterion.criterion, "groups_considered"), value++});
  std::uint64_t all = 0;
  value = 1;
  for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
    const Row* row = find_row(fmt::format("mb_stats/{}/groups_considered", criterion.section));
    EXPECT_EQ(row->run(run, report), whole(value)) << criterion.name;
    all += value++;
  }
  EXPECT_EQ(find_row("groups_considered")->run(run, report), whole(all));
}

// Kernels of 6.12.77 and 6.17 count a search that ended past the last criterion as a useless loop
// of the first.
TEST(Rows, ShowWhatFaultyCountersMean) {
  ReplayReport report;
  RunReport run;
  run.policy = allocator::find_policy("linux-7.3");
  run.mb_stats = {{"cr0_stats/useless_loops", 144}, {"cr3_stats/hits", 16}};
  run.past_last = 138;
  EXPECT_EQ(find_row("searches_past_cr3")->run(run, report), whole(138));
  EXPECT_EQ(find_row("mb_stats/cr0_stats/useless_loops")->run(run, report), whole(6));
  EXPECT_EQ(find_row("mb_stats/cr3_stats/hits")->run(run, report), whole(16));
  run.past_last.reset();
  EXPECT_EQ(find_row("searches_past_cr3")->run(run, report), Value());
  EXPECT_EQ(find_row("mb_stats/cr0_stats/useless_loops")->run(run, report), whole(144));
}

// Two policies that differ in one part of one row.
ReplayReport two_policies() {
  ReplayReport report;
  report.superblock.block_bits = 12;
  report.runs.resize(2);
  report.runs[0].policy = allocator::find_policy("legacy");
  report.runs[1].policy = allocator::find_policy("cr1.5");
  for (RunReport& run : report.runs) run.mb_stats = {{"breaks", 5}, {"goal_hits", 7}};
  report.runs[0].space.chunks.count[1] = 3;
  return report;
}

std::vector<std::string> keys_of(const RowChoice& choice) {
  std::vector<std::string> out;
  for (const Row* row : choice.rows) out.push_back(row->key);
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
  report.kernel = RecordedKernel{report.runs[0], {}, false, {}};
  report.kernel->run->mb_stats.clear();
  const auto keys = keys_of(choose_rows(report, false));
  EXPECT_EQ(std::ranges::find(keys, "mb_stats/breaks"), keys.end());
  report.kernel->run->mb_stats = {{"breaks", 6}};
  const auto now = keys_of(choose_rows(report, false));
  EXPECT_NE(std::ranges::find(now, "mb_stats/breaks"), now.end());
}

// docs/metrics.md names the key of each row beside its label. SECTION and CRITERION stand for
// those of each criterion.
TEST(Rows, AreInTheDocumentation) {
  const Result<std::string> page = read_file(METRICS);
  ASSERT_TRUE(page.ok());
  const auto told = [&](std::string label, const std::string& key) {
    label.erase(0, label.find_first_not_of(' '));
    std::istringstream lines(*page);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("| " + label + " |") && line.find("`" + key + "`") != std::string::npos)
        return true;
    return false;
  };
  for (const Row& row : rows()) {
    std::string label = row.label, key = row.key;
    for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
      const std::string title(criterion.title);
      if (!label.ends_with(title) || (label != "  " + title && label != "  mean, " + title))
        continue;
      label = label == "  " + title ? "CRITERION" : "mean, CRITERION";
      const std::string section = fmt::format("/{}/", criterion.section);
      if (const auto at = key.find(section); at != std::string::npos)
        key.replace(at, section.size(), "/SECTION/");
      else
        key = "decision_ns/CRITERION";
    }
    EXPECT_TRUE(told(label, key)) << label << ": " << key;
  }
}

}  // namespace
}  // namespace e4r::report
