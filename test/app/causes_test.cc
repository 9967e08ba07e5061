// SPDX-License-Identifier: GPL-2.0-or-later
// Tests each rule on two captures: one for which the rule names a cause, and one for which it does
// not. For the first, the test also compares policies that do not differ in this cause: most of the
// difference must then have disappeared.
#include "app/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "app/comparison.h"
#include "app/opened.h"
#include "replay/engine.h"
#include "replay/search_reasons.h"
#include "report/headline.h"

namespace e4r::app {
namespace {

using Figure = results::Cause::Figure;

// A comparison of policies on a capture, with the causes of their differences.
class Compared {
 public:
  Compared(const std::string& capture, const std::vector<std::string_view>& policies,
           std::vector<std::string> settings = {})
      : opened_(capture) {
    RunSpec spec;
    for (const std::string_view name : policies)
      spec.policies.push_back(allocator::find_policy(name));
    spec.settings = std::move(settings);
    spec.causes = spec.force = true;
    auto made = compare(spec, opened_.inputs, opened_.listener);
    if (!made.ok()) throw std::runtime_error(made.error().message);
    comparison_ = *std::move(made);
  }

  [[nodiscard]] const report::ReplayReport& report() const { return comparison_.report; }
  [[nodiscard]] std::span<const replay::Run> runs() const { return comparison_.runs; }
  [[nodiscard]] const replay::Run& run(std::size_t i) const { return comparison_.runs[i]; }
  [[nodiscard]] const results::Why& why(std::size_t i) const { return *report().runs[i].why; }
  // Returns the cause of this name for the figure, or null if the comparison does not name it.
  [[nodiscard]] const results::Cause* find(std::size_t i, std::string_view name, Figure of) const {
    const auto& causes = why(i).causes;
    const auto at = std::find_if(causes.begin(), causes.end(), [&](const results::Cause& cause) {
      return cause.name == name && cause.of == of;
    });
    return at == causes.end() ? nullptr : &*at;
  }
  // Returns the second run's steps divided by the first run's.
  [[nodiscard]] double steps_ratio() const {
    return *results::number_of(report::steps_per_request(report().runs[1])) /
           *results::number_of(report::steps_per_request(report().runs[0]));
  }
  [[nodiscard]] double extents_ratio() const {
    return static_cast<double>(report().runs[1].files.extents) /
           static_cast<double>(report().runs[0].files.extents);
  }

 private:
  test::Opened opened_;
  Comparison comparison_;
};

// Returns the fraction of a difference that remains when a cause is removed. Both arguments are
// ratios, and the fraction is computed from their logarithms.
double left_of(double with, double without) {
  return std::abs(std::log(without)) / std::abs(std::log(with));
}

void expect_cause(const results::Cause* cause, std::string_view policy, double percent) {
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(cause->policy, policy);
  EXPECT_NEAR(cause->percent, percent, 0.05);
  EXPECT_GT(cause->count, cause->other);
}

TEST(Causes, GoalTooLong) {
  const std::vector<std::string_view> policies = {"legacy", "linux-6.12.77"};
  const Compared holds("posting-2000.e4c", policies);
  expect_cause(holds.find(1, "goal-too-long", Figure::steps), "legacy", 88.0);
  expect_cause(holds.find(0, "goal-too-long", Figure::steps), "legacy", 87.5);
  EXPECT_NE(holds.why(1).causes[0].sentence.find("512"), std::string::npos);
  const Compared without("posting-2000.e4c", policies, {"mb_group_prealloc=64"});
  EXPECT_LT(left_of(holds.steps_ratio(), without.steps_ratio()), 0.5);
  EXPECT_EQ(without.find(1, "goal-too-long", Figure::steps), nullptr);
  const Compared elsewhere("midfrag-256g.e4c", policies);
  EXPECT_EQ(elsewhere.find(0, "goal-too-long", Figure::steps), nullptr);
  EXPECT_EQ(elsewhere.find(1, "goal-too-long", Figure::steps), nullptr);
}

TEST(Causes, LostGroupGoal) {
  const Compared holds("posting-256g.e4c", {"linux-7.3-group-goal", "linux-7.3"});
  expect_cause(holds.find(1, "lost-group-goal", Figure::steps), "linux-7.3", 107.3);
  expect_cause(holds.find(1, "lost-group-goal", Figure::extents), "linux-7.3", 105.5);
  // The policy that keeps the goal takes no steps for the reason lost_goal.
  const auto& kept = holds.run(0).engine->find<replay::SearchReasons>()->steps();
  EXPECT_EQ(kept[static_cast<std::size_t>(replay::Reason::lost_goal)], 0u);
  const Compared elsewhere("midfrag-256g.e4c", {"linux-7.3-group-goal", "linux-7.3"});
  EXPECT_TRUE(elsewhere.why(1).causes.empty());
  EXPECT_TRUE(elsewhere.why(1).unexplained.empty());
}

TEST(Causes, MaxToScanOfSteps) {
  const std::vector<std::string_view> policies = {"legacy", "linux-6.12.77"};
  const Compared holds("midfrag-256g.e4c", policies);
  expect_cause(holds.find(1, "max-to-scan", Figure::steps), "legacy", 107.6);
  const Compared without("midfrag-256g.e4c", policies, {"mb_max_to_scan=20"});
  EXPECT_LT(left_of(holds.steps_ratio(), without.steps_ratio()), 0.5);
  const Compared elsewhere("posting-2000.e4c", policies);
  EXPECT_EQ(elsewhere.find(1, "max-to-scan", Figure::steps), nullptr);
}

TEST(Causes, MaxToScanOfExtents) {
  const std::vector<std::string_view> policies = {"linux-5.15.202", "legacy"};
  const Compared holds("corpus/pgbench-4k-aged.e4c", policies);
  expect_cause(holds.find(1, "max-to-scan", Figure::extents), "legacy", 100.9);
  const Compared without("corpus/pgbench-4k-aged.e4c", policies, {"mb_max_to_scan=20000"});
  EXPECT_LT(left_of(holds.extents_ratio(), without.extents_ratio()), 0.5);
  const Compared elsewhere("posting-256g.e4c", {"legacy", "linux-7.3"});
  EXPECT_EQ(elsewhere.find(1, "max-to-scan", Figure::extents), nullptr);
}

TEST(Causes, ListsOrWalks) {
  const Compared holds("midfrag-256g.e4c", {"linear", "legacy"});
  expect_cause(holds.find(1, "lists-or-walks", Figure::steps), "linear", 100.0);
  const Compared other_way("midfrag-256g.e4c", {"legacy", "linear"});
  expect_cause(other_way.find(1, "lists-or-walks", Figure::steps), "linear", 100.0);
  const Compared without("midfrag-256g.e4c", {"linear", "legacy"}, {"mb_optimize_scan=0"});
  EXPECT_DOUBLE_EQ(without.steps_ratio(), 1);
  EXPECT_TRUE(without.why(1).causes.empty());
  const Compared elsewhere("midfrag-256g.e4c", {"legacy", "linux-7.3"});
  EXPECT_EQ(elsewhere.find(1, "lists-or-walks", Figure::steps), nullptr);
}

TEST(Causes, LinearGroups) {
  const std::vector<std::string_view> policies = {"linux-7.3", "low-first"};
  const Compared holds("corpus/fsmark-1k-writers.e4c", policies);
  expect_cause(holds.find(1, "linear-groups", Figure::steps), "low-first", 68.2);
  const Compared without("corpus/fsmark-1k-writers.e4c", policies, {"mb_max_linear_groups=0"});
  EXPECT_LT(left_of(holds.steps_ratio(), without.steps_ratio()), 0.5);
  EXPECT_EQ(without.find(1, "linear-groups", Figure::steps), nullptr);
  const Compared elsewhere("midfrag-256g.e4c", policies);
  EXPECT_EQ(elsewhere.find(1, "linear-groups", Figure::steps), nullptr);
}

// In linux-6.6.103, unlike linux-6.6.0, full groups leave their lists. Apart from that, only the
// placement of short finds differs. So a comparison with linux-6.6.103 shows the difference without
// this cause.
TEST(Causes, FullGroupsInLists) {
  const Compared holds("posting-256g.e4c", {"linux-6.12.77", "linux-6.6.24"});
  expect_cause(holds.find(1, "full-groups-in-lists", Figure::steps), "linux-6.6.24", 92.5);
  const Compared without("posting-256g.e4c", {"linux-6.12.77", "linux-6.6.103"});
  EXPECT_LT(left_of(holds.steps_ratio(), without.steps_ratio()), 0.5);
  EXPECT_EQ(without.find(1, "full-groups-in-lists", Figure::steps), nullptr);
  const Compared elsewhere("midfrag-256g.e4c", {"linux-6.12.77", "linux-6.6.24"});
  EXPECT_EQ(elsewhere.find(1, "full-groups-in-lists", Figure::steps), nullptr);
}

// Up to 5.4, a criterion loads each group that it considers.
TEST(Causes, GroupsNotLoaded) {
  const Compared holds("../test/golden/verify-cold/cold.e4c", {"el8", "legacy"});
  expect_cause(holds.find(1, "groups-not-loaded", Figure::steps), "legacy", 50.0);
  const auto& loads = holds.run(0).engine->find<replay::SearchReasons>()->steps();
  EXPECT_EQ(loads[static_cast<std::size_t>(replay::Reason::not_loaded)], 0u);
  const Compared elsewhere("churn-4k.e4c", {"el8", "legacy"});
  EXPECT_EQ(elsewhere.find(1, "groups-not-loaded", Figure::steps), nullptr);
}

TEST(Causes, AreNotGuessed) {
  // best-avail puts small files into more extents on posting-256g even if it keeps the goal.
  const Compared compared("posting-256g.e4c", {"legacy", "linux-7.3-group-goal"});
  EXPECT_EQ(compared.why(1).unexplained, std::vector<Figure>{Figure::extents});
  const auto texts = report::why_texts(compared.report());
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_TRUE(texts[1].text.ends_with("No rule explains the difference in extents."));
}

// Every step has exactly one reason, so two causes never claim the same part of a difference.
TEST(Causes, AccountForEveryStep) {
  for (const char* capture :
       {"aged-1k.e4c", "churn-ext3-6.5.e4c", "corpus/near-full-1k.e4c", "full.e4c"}) {
    SCOPED_TRACE(capture);
    std::vector<std::string_view> all;
    for (const allocator::Policy* policy : allocator::policies()) all.push_back(policy->name);
    const Compared compared(capture, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(all[i]);
      const replay::Engine& engine = *compared.run(i).engine;
      std::uint64_t steps = 0;
      for (const std::uint64_t of : engine.find<replay::SearchReasons>()->steps()) steps += of;
      EXPECT_EQ(steps, engine.counters().considered().value() + engine.counters().extents_scanned);
      EXPECT_LE(compared.why(i).causes.size() + compared.why(i).unexplained.size(), 2u);
    }
  }
}

// A kernel's own code reports no steps, so there are no causes. In this test, a model takes the
// place of a kernel.
TEST(Causes, AreMissingOfKernels) {
  const std::vector<std::string_view> policies = {"linear", "legacy"};
  for (const std::size_t kernel : {0u, 1u}) {
    SCOPED_TRACE(kernel);
    const Compared compared("writeback-8.e4c", policies);
    report::ReplayReport report = compared.report();
    allocator::Policy named = *report.runs[kernel].policy;
    named.name = "kernel:mine.uml";
    report.runs[kernel].policy = &named;
    find_causes(compared.runs(), report);
    EXPECT_TRUE(report.runs[kernel].why->missing.starts_with("A kernel's code"));
    EXPECT_EQ(report.runs[1].why->missing.empty(), false);
    EXPECT_EQ(report.runs[0].why->missing.empty(), kernel == 1);
    EXPECT_FALSE(report::why_texts(report).empty());
  }
}

TEST(Causes, ChangeNoDecision) {
  const Compared compared("churn-4k.e4c", {"legacy", "linux-6.6.24"});
  test::Opened opened("churn-4k.e4c");
  RunSpec spec;
  spec.policies = {allocator::find_policy("legacy"), allocator::find_policy("linux-6.6.24")};
  const auto plain = compare(spec, opened.inputs, opened.listener);
  ASSERT_TRUE(plain.ok());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(compared.report().runs[i].decisions_hash, plain->report.runs[i].decisions_hash);
    EXPECT_FALSE(plain->report.runs[i].why.has_value());
  }
}

// docs/causes.md has one section for each rule, in the order of the table.
TEST(Causes, AreInTheDocumentation) {
  std::ifstream page(DOCS "/causes.md");
  std::vector<std::string> sections;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("## ")) sections.push_back(line.substr(3));
  const std::vector<std::string_view> names = cause_names();
  ASSERT_GE(sections.size(), names.size());
  EXPECT_TRUE(std::equal(names.begin(), names.end(), sections.begin()));
}

}  // namespace
}  // namespace e4r::app
