// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/plan.h"

#include <gtest/gtest.h>

namespace e4r::sweep {
namespace {

using Values = std::vector<std::uint64_t>;

Values values_of(std::string_view text) {
  const auto axis = parse_axis(text);
  EXPECT_TRUE(axis.ok()) << text << ": " << (axis.ok() ? "" : axis.error().message);
  return axis.ok() ? axis->values : Values();
}

std::string mistake(std::string_view text) {
  const auto axis = parse_axis(text);
  return axis.ok() ? "none" : axis.error().message;
}

PlanSpec spec(const std::vector<std::string>& captures, const std::vector<const char*>& policies,
              const std::vector<const char*>& settings, const char* where = "") {
  PlanSpec out;
  out.captures = captures;
  for (const char* name : policies) out.policies.push_back(allocator::find_policy(name));
  for (const char* setting : settings) out.axes.push_back(*parse_axis(setting));
  out.where = where;
  return out;
}

std::vector<std::string> describe(const Plan& plan) {
  std::vector<std::string> out;
  for (const Point& p : plan.points)
    out.push_back(fmt::format("{} {} {}", plan.spec.captures[p.capture], p.policy->name,
                              settings_text(plan, p)));
  return out;
}

std::string plan_mistake(const PlanSpec& of) {
  const auto plan = make_plan(of);
  return plan.ok() ? "none" : plan.error().message;
}

TEST(Axis, ListsAndRanges) {
  EXPECT_EQ(values_of("mb_stripe=7"), (Values{7}));
  EXPECT_EQ(values_of("mb_stripe=7,3,5"), (Values{7, 3, 5}));
  EXPECT_EQ(values_of("mb_stripe=2..5"), (Values{2, 3, 4, 5}));
  EXPECT_EQ(values_of("mb_stripe=4..4"), (Values{4}));
  EXPECT_EQ(values_of("mb_stripe=0..10:5"), (Values{0, 5, 10}));
  EXPECT_EQ(values_of("mb_stripe=0..9:5"), (Values{0, 5}));
  EXPECT_EQ(values_of("mb_stripe=1,10..30:10,2"), (Values{1, 10, 20, 30, 2}));
}

TEST(Axis, SaysWhatIsWrong) {
  EXPECT_EQ(mistake("mb_stripe").substr(0, 24), "'mb_stripe' is not a set");
  EXPECT_EQ(mistake("mb_strip=1").substr(0, 28), "unknown tunable 'mb_strip': ");
  EXPECT_NE(mistake("mb_stripe="), "none");
  EXPECT_NE(mistake("mb_stripe=1,"), "none");
  EXPECT_NE(mistake("mb_stripe=1,x"), "none");
  EXPECT_EQ(mistake("mb_stripe=1..x"), "mb_stripe: '1..x' is not a range: give A..B or A..B:STEP");
  EXPECT_EQ(mistake("mb_stripe=1..5:0"), "mb_stripe: '1..5:0': a step must not be 0");
  EXPECT_EQ(mistake("mb_stripe=5..1"), "mb_stripe: '5..1' runs backwards: give 1..5");
  EXPECT_EQ(mistake("mb_stripe=1,2,1"), "mb_stripe: 1 is given twice");
  EXPECT_EQ(mistake("mb_optimize_scan=0..2"), "mb_optimize_scan: 2 is more than 1");
  EXPECT_EQ(mistake("extsize=4,12"), "extsize: 12 is not a power of two: give one, such as 4");
  EXPECT_EQ(mistake("mb_stripe=0..200000"), "mb_stripe: '0..200000' has more than 100,000 values");
  EXPECT_EQ(mistake("mb_stripe=0..18446744073709551615"),
            "mb_stripe: '0..18446744073709551615' has more than 100,000 values");
  EXPECT_EQ(mistake("mb_stripe=0..90000,100000..190000"), "mb_stripe: more than 100,000 values");
}

TEST(Plan, GoesThroughAllCombinationsInOrder) {
  const auto plan = make_plan(spec({"a", "b"}, {"cr1.5"}, {"mb_order2_req=2,3", "mb_stripe=0,8"}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(describe(*plan),
            (std::vector<std::string>{
                "a cr1.5 mb_order2_req=2 mb_stripe=0", "a cr1.5 mb_order2_req=2 mb_stripe=8",
                "a cr1.5 mb_order2_req=3 mb_stripe=0", "a cr1.5 mb_order2_req=3 mb_stripe=8",
                "b cr1.5 mb_order2_req=2 mb_stripe=0", "b cr1.5 mb_order2_req=2 mb_stripe=8",
                "b cr1.5 mb_order2_req=3 mb_stripe=0", "b cr1.5 mb_order2_req=3 mb_stripe=8"}));
  EXPECT_EQ(plan->combinations, 8u);
  EXPECT_EQ(plan->merged, 0u);
  EXPECT_EQ(plan->rejected, 0u);
}

TEST(Plan, WithoutTunablesOneForEachPolicy) {
  const auto plan = make_plan(spec({"a"}, {"legacy", "cr1.5"}, {}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(describe(*plan), (std::vector<std::string>{"a legacy ", "a cr1.5 "}));
}

TEST(Plan, WhatAPolicyDoesNotHaveIsRunOnce) {
  const auto plan = make_plan(
      spec({"a"}, {"legacy", "cr1.5"}, {"mb_cr1_5_max_trim_order=1..4", "mb_stripe=0,8"}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->combinations, 16u);
  EXPECT_EQ(plan->merged, 6u);
  ASSERT_EQ(plan->points.size(), 10u);
  EXPECT_EQ(settings_text(*plan, plan->points[0]), "mb_cr1_5_max_trim_order=- mb_stripe=0");
  EXPECT_EQ(settings_text(*plan, plan->points[1]), "mb_cr1_5_max_trim_order=- mb_stripe=8");
  EXPECT_EQ(settings_text(*plan, plan->points[2]), "mb_cr1_5_max_trim_order=1 mb_stripe=0");
}

TEST(Plan, ConditionIsAskedBeforeMerging) {
  const auto plan = make_plan(spec({"a"}, {"legacy", "cr1.5"}, {"mb_cr1_5_max_trim_order=1..4"},
                                   "mb_cr1_5_max_trim_order > 2"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rejected, 4u);
  EXPECT_EQ(plan->merged, 1u);
  EXPECT_EQ(describe(*plan), (std::vector<std::string>{"a legacy mb_cr1_5_max_trim_order=-",
                                                       "a cr1.5 mb_cr1_5_max_trim_order=3",
                                                       "a cr1.5 mb_cr1_5_max_trim_order=4"}));
}

TEST(Plan, SetsTunablesOverTheRecordedOnes) {
  const auto plan =
      make_plan(spec({"a"}, {"legacy"}, {"mb_cr1_5_max_trim_order=9", "mb_stripe=8"}));
  ASSERT_TRUE(plan.ok());
  allocator::Tunables recorded;
  recorded.mb_max_to_scan = 77;
  const allocator::Tunables set = plan->tunables(plan->points[0], recorded);
  EXPECT_EQ(set.mb_max_to_scan, 77u);
  EXPECT_EQ(set.mb_stripe, 8u);
  EXPECT_EQ(set.mb_cr1_5_max_trim_order, recorded.mb_cr1_5_max_trim_order) << "it has none";
}

// Only the table of tunables contains the default of a plug-in's tunable.
TEST(Plan, ADefaultOfAFileIsNoChange) {
  const auto own = allocator::add_own_tunable("plan_test_parts", "for this test", 4, 64);
  ASSERT_TRUE(own.ok()) << own.error().message;
  const std::vector<std::uint64_t allocator::Tunables::*> members = {(*own)->member};
  const allocator::Policy& legacy = *allocator::find_policy("legacy");
  const allocator::Policy policy = {.name = "filed",
                                    .summary = "of a file",
                                    .source = "this test",
                                    .ladder = legacy.ladder,
                                    .kernel = legacy.kernel,
                                    .own_tunables = members};
  PlanSpec of = spec({"a"}, {}, {"plan_test_parts=4,8"});
  of.policies = {&policy};
  const auto plan = make_plan(of);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->points.size(), 2u);
  EXPECT_EQ(changes(*plan, 0).of_recorded, 0u);
  EXPECT_EQ(changes(*plan, 0).of_default, 0u);
  EXPECT_EQ(changes(*plan, 1).of_recorded, 1u);
  EXPECT_EQ(changes(*plan, 1).of_default, 1u);
}

TEST(Plan, SaysWhatIsWrong) {
  EXPECT_EQ(plan_mistake(spec({"a", "a"}, {"legacy"}, {})), "a is given twice");
  EXPECT_EQ(plan_mistake(spec({"a"}, {"legacy", "linux-6.1"}, {})), "policy legacy is given twice");
  EXPECT_EQ(plan_mistake(spec({"a"}, {"legacy"}, {"mb_stripe=1", "mb_stripe=2"})),
            "--set mb_stripe is given twice: give all its values in one");
  EXPECT_EQ(plan_mistake(spec({"a"}, {"legacy"},
                              {"mb_stripe=0..999", "mb_order2_req=0..64", "mb_min_to_scan=1,2"})),
            "more than 100,000 combinations: give fewer values, or several sweeps");
  EXPECT_EQ(plan_mistake(spec({"a"}, {"legacy"}, {"mb_stripe=0..9"}, "mb_stripe > 9")),
            "--where: none of 10 combinations meets it");
  EXPECT_EQ(
      plan_mistake(spec({"a"}, {"legacy"}, {}, "mb_stripe > 9")),
      "--where: at 1: 'mb_stripe' is neither a number nor a tunable set with --set: it gives none");
  EXPECT_EQ(plan_mistake(spec({}, {"legacy"}, {})), "no capture to replay");
  EXPECT_EQ(plan_mistake(spec({"a"}, {}, {})), "no policy to replay under");
}

}  // namespace
}  // namespace e4r::sweep
