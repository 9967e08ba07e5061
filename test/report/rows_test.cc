// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/rows.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "ext4/criterion.h"

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

}  // namespace
}  // namespace e4r::report
