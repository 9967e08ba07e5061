// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the checks that every policy in the registry must pass. They also cover policies that are
// added later.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "allocator/policy.h"
#include "conformance/checks.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using allocator::Policy;

std::string identifier(std::string_view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

class PolicyTest : public testing::TestWithParam<const Policy*> {};

TEST_P(PolicyTest, DescribesItself) {
  const Policy& policy = *GetParam();
  EXPECT_FALSE(policy.name.empty());
  EXPECT_FALSE(policy.summary.empty());
  EXPECT_FALSE(policy.source.empty());
  EXPECT_EQ(policy.summary.find('\n'), std::string_view::npos);
  EXPECT_EQ(allocator::find_policy(policy.name), &policy);
  ASSERT_FALSE(policy.ladder.empty());
  for (const allocator::Rung& rung : policy.ladder) {
    EXPECT_FALSE(rung.meaning.empty());
    EXPECT_NE(rung.criterion, mb::Criterion::unknown);
    EXPECT_TRUE(rung.applies != nullptr && rung.least_free != nullptr && rung.good != nullptr);
  }
}

TEST_P(PolicyTest, NoTwoRungsCountForTheSameCriterion) {
  std::set<mb::Criterion> seen;
  for (const allocator::Rung& rung : GetParam()->ladder)
    EXPECT_TRUE(seen.insert(rung.criterion).second) << rung.meaning;
}

void run_check(std::size_t number, const Policy& policy) {
  ASSERT_LT(number, policy_checks().size());
  const PolicyCheck& check = policy_checks()[number];
  for (const std::string& complaint : check.run(policy))
    ADD_FAILURE() << check.name << ": " << complaint;
}

TEST_P(PolicyTest, LastRungTakesAnyFreeCluster) {
  run_check(0, *GetParam());
}
TEST_P(PolicyTest, ATunableThatItDoesNotHaveMakesNoDifference) {
  run_check(1, *GetParam());
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyTest, testing::ValuesIn(allocator::policies()),
                         [](const auto& tested) { return identifier(tested.param->name); });

TEST(Registry, NamesSummariesAndSourcesAreUnique) {
  std::set<std::string_view> names;
  std::set<std::string_view> summaries;
  std::set<std::string_view> sources;
  for (const Policy* policy : allocator::policies()) {
    EXPECT_TRUE(names.insert(policy->name).second) << policy->name;
    EXPECT_TRUE(summaries.insert(policy->summary).second) << policy->name;
    EXPECT_TRUE(sources.insert(policy->source).second) << policy->name;
  }
  EXPECT_FALSE(names.empty());
  EXPECT_EQ(allocator::find_policy("no such policy"), nullptr);
}

class OnShape : public testing::TestWithParam<std::tuple<const Policy*, ModelShape>> {
 protected:
  [[nodiscard]] const Policy& policy() const { return *std::get<0>(GetParam()); }
  [[nodiscard]] const ModelShape& shape() const { return std::get<1>(GetParam()); }
};

// Runs one check by its number. Each check is a separate test, so checks run in parallel.
void run_check(std::size_t number, const Policy& policy, const ModelShape& shape) {
  ASSERT_LT(number, checks().size());
  const Check& check = checks()[number];
  for (const std::string& complaint : check.run(policy, shape))
    ADD_FAILURE() << check.name << ": " << complaint;
}

TEST_P(OnShape, FindsTheOnlyFreeCluster) {
  run_check(0, policy(), shape());
}
TEST_P(OnShape, FailsCleanlyWhenThereIsNoSpace) {
  run_check(1, policy(), shape());
}
TEST_P(OnShape, ThousandsOfRandomOperationsKeepEveryInvariant) {
  run_check(2, policy(), shape());
}
TEST_P(OnShape, RepeatsItselfExactly) {
  run_check(3, policy(), shape());
}
TEST(Conformance, HasATestForEachCheck) {
  EXPECT_EQ(checks().size(), 4u);
  EXPECT_EQ(policy_checks().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Policies, OnShape,
                         testing::Combine(testing::ValuesIn(allocator::policies()),
                                          testing::ValuesIn(model_shapes())),
                         [](const auto& tested) {
                           return identifier(std::get<0>(tested.param)->name) + "_" +
                                  std::get<1>(tested.param).name;
                         });

}  // namespace
}  // namespace e4r::test
