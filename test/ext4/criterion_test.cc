// SPDX-License-Identifier: GPL-2.0-or-later
#include "ext4/criterion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace e4r::mb {
namespace {

TEST(Criteria, EachValueHasItsRow) {
  for (std::size_t value = 0; value < kCriteria; ++value) {
    const auto criterion = static_cast<Criterion>(value);
    EXPECT_EQ(row_of(criterion).criterion, criterion);
    EXPECT_FALSE(criterion_name(criterion).empty()) << value;
  }
}

// Packed traces store these numbers, so they must never change.
TEST(Criteria, KeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(Criterion::cr0), 0);
  EXPECT_EQ(static_cast<int>(Criterion::cr1), 1);
  EXPECT_EQ(static_cast<int>(Criterion::cr1_5), 2);
  EXPECT_EQ(static_cast<int>(Criterion::best_avail), 3);
  EXPECT_EQ(static_cast<int>(Criterion::cr2), 4);
  EXPECT_EQ(static_cast<int>(Criterion::cr3), 5);
  EXPECT_EQ(static_cast<int>(Criterion::past_last), 6);
  EXPECT_EQ(static_cast<int>(Criterion::unknown), 7);
  EXPECT_EQ(static_cast<int>(Criterion::own_1), 8);
  EXPECT_EQ(static_cast<int>(Criterion::own_4), 11);
}

// Expects that the non-empty values of a column are distinct.
template <class Member>
void expect_distinct(Member member, const char* what) {
  std::set<std::string> seen;
  for (const CriterionRow& row : kCriterionTable) {
    const std::string text(row.*member);
    const bool is_new = text.empty() || seen.insert(text).second;
    EXPECT_TRUE(is_new) << what << " " << text;
  }
}

TEST(Criteria, AreToldApartByEachName) {
  expect_distinct(&CriterionRow::name, "name");
  expect_distinct(&CriterionRow::title, "title");
  expect_distinct(&CriterionRow::key, "key");
  expect_distinct(&CriterionRow::section, "section");
  expect_distinct(&CriterionRow::section_6_5, "section of 6.5");
  expect_distinct(&CriterionRow::word_6_5, "word of 6.5");
  expect_distinct(&CriterionRow::word_cr1_5, "word of the CR1.5 series");
  for (const auto member :
       {&CriterionRow::number_6_1, &CriterionRow::number_6_5, &CriterionRow::number_cr1_5}) {
    std::set<int> seen;
    for (const CriterionRow& row : kCriterionTable)
      EXPECT_TRUE(row.*member < 0 || seen.insert(row.*member).second) << row.name;
    EXPECT_EQ(*seen.rbegin() + 1, static_cast<int>(seen.size())) << "a ladder has no gaps";
  }
}

TEST(Criteria, OfALadderHaveAllThatReportsShow) {
  EXPECT_EQ(ladder_criteria().size(), kTableCriteria - 2 + own_criteria())
      << "all but past_last and unknown";
  for (const CriterionRow& row : ladder_criteria()) {
    EXPECT_FALSE(row.title.empty()) << row.name;
    EXPECT_FALSE(row.key.empty()) << row.name;
    EXPECT_TRUE(row.section.ends_with("_stats")) << row.name;
    EXPECT_TRUE(is_own(row.criterion) ||
                std::max({row.number_6_1, row.number_6_5, row.number_cr1_5}) >= 0)
        << row.name;
  }
}

TEST(Criteria, OfFilesHaveTheNamesThatTheyAreGiven) {
  const std::size_t before = own_criteria();
  const std::optional<Criterion> first = own_criterion("Long-run.2");
  ASSERT_TRUE(first);
  EXPECT_TRUE(is_own(*first));
  EXPECT_EQ(own_criterion("Long-run.2"), first) << "the same name, the same rung";
  EXPECT_EQ(own_criteria(), before + 1);
  EXPECT_EQ(criterion_name(*first), "Long-run.2");
  EXPECT_EQ(row_of(*first).key, "long_run_2");
  EXPECT_EQ(row_of(*first).section, "long_run_2_stats");
  std::vector<std::string> shown;
  for (const CriterionRow& row : ladder_criteria()) shown.emplace_back(row.name);
  const auto at = std::find(shown.begin(), shown.end(), "Long-run.2");
  ASSERT_NE(at, shown.end());
  EXPECT_NE(std::find(at, shown.end(), "CR2"), shown.end()) << "it stands before CR2";
  for (std::size_t i = own_criteria(); i < kOwnCriteria; ++i)
    EXPECT_TRUE(own_criterion("more-" + std::to_string(i))) << i;
  EXPECT_FALSE(own_criterion("too-many"));
  EXPECT_EQ(own_criterion("Long-run.2"), first);
}

}  // namespace
}  // namespace e4r::mb
