// SPDX-License-Identifier: GPL-2.0-or-later
// What every policy of the registry must do, whatever else it does. A new row is tested here by
// being in the table.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "allocator/policy.h"
#include "support/rig.h"
#include "support/workload.h"

namespace e4r::test {
namespace {

using allocator::Decision;
using allocator::Policy;

std::string identifier(std::string_view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

void expect_sound(const state::FsState& state) {
  for (const std::string& line : state.check(3)) ADD_FAILURE() << line;
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

TEST_P(PolicyTest, LastRungTakesAnyFreeCluster) {
  const allocator::Rung& last = GetParam()->ladder.back();
  ModelFs fs(model_shape("two_groups"));
  fs.fill();
  fs.free(1, 100, 1);
  Rig rig(*GetParam(), fs);
  load_all(rig.state);
  allocator::Counters counters;
  allocator::Search search(rig.state, rig.tunables, counters);
  search.goal.len = search.goal_len = 500;
  EXPECT_TRUE(last.applies(search));
  EXPECT_LE(last.least_free(search), 1u);
  EXPECT_EQ(last.choose, nullptr) << "the last rung must walk";
  EXPECT_FALSE(last.fast);
  EXPECT_EQ(last.classes, nullptr) << "the last rung must walk";
  EXPECT_EQ(last.lengths, allocator::Lengths::all);
  EXPECT_TRUE(last.good(search, rig.state.group(1)));
  EXPECT_FALSE(last.good(search, rig.state.group(0)));
}

// What becomes of a workload with the tunable set so.
std::vector<trace::Event> with(const Policy& policy, const allocator::TunableInfo& info,
                               std::uint64_t value) {
  ModelFs fs(model_shapes().front());
  Rng rng(5);
  ModelFiles old = add_old_files(fs, rng, 6, 2000, 20);
  allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
  tunables.*(info.member) = value;
  Rig rig(policy, fs, tunables);
  Workload work(rig.allocator, fs, std::move(old), {.seed = 9});
  work.run(400);
  return work.events();
}

TEST_P(PolicyTest, ATunableThatItDoesNotHaveMakesNoDifference) {
  for (const allocator::TunableInfo& info : allocator::tunable_table()) {
    if (allocator::has_tunable(*GetParam(), info)) continue;
    const std::vector<trace::Event> least = with(*GetParam(), info, 0);
    for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{2}, info.max})
      EXPECT_EQ(least, with(*GetParam(), info, std::min(value, info.max))) << info.name;
  }
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

// Metadata, small files and large files alike; groups loaded before or not.
TEST_P(OnShape, FindsTheOnlyFreeCluster) {
  for (const bool loaded : {true, false}) {
    for (const std::uint32_t flags : {0u, mb::hint_data}) {
      for (const std::uint64_t size : {4096ull, 64ull << 20}) {
        ModelFs fs(shape());
        fs.fill();
        const std::uint32_t group = shape().groups - 1;
        const std::uint32_t cluster = fs.geometry().clusters_in(group) - 1;
        fs.free(group, cluster, 1);
        Rig rig(policy(), fs);
        if (loaded) load_all(rig.state);
        allocator::Request request = data_request(20, 1, size);
        request.flags = flags;
        const Decision d = rig.allocator.allocate(request);
        ASSERT_TRUE(d.success) << "loaded " << loaded << " flags " << flags << " size " << size;
        EXPECT_EQ(d.block, fs.geometry().block_of(group, cluster));
        EXPECT_EQ(d.len, 1u);
        expect_sound(rig.state);
      }
    }
  }
}

TEST_P(OnShape, FailsCleanlyWhenThereIsNoSpace) {
  ModelFs fs(shape());
  fs.fill();
  Rig rig(policy(), fs);
  for (const std::uint64_t size : {4096ull, 64ull << 20}) {
    for (const std::uint32_t flags : {0u, mb::hint_data}) {
      allocator::Request request = data_request(20, 8, size);
      request.flags = flags;
      const Decision d = rig.allocator.allocate(request);
      EXPECT_FALSE(d.success);
      EXPECT_EQ(d.len, 0u);
      EXPECT_EQ(d.result.len, 0u);
      EXPECT_FALSE(d.prealloc);
    }
  }
  expect_sound(rig.state);
}

// Random files on a partly used image. Every decision is judged against a plain account of which
// cluster is in use, and the state against its own invariants.
TEST_P(OnShape, ThousandsOfRandomOperationsKeepEveryInvariant) {
  ModelFs fs(shape());
  Rng rng(7);
  ModelFiles old = add_old_files(fs, rng, 6, shape().groups * shape().clusters_per_group / 20, 40);
  fs.leave_uninit(rng, 50);
  Rig rig(policy(), fs);
  WorkloadOptions options;
  options.largest = std::min(shape().clusters_per_group, 2000u);
  Workload work(rig.allocator, fs, std::move(old), options);
  for (int round = 0; round < 12; ++round) {
    work.run(100);
    for (const std::string& line : rig.state.check(1)) FAIL() << "round " << round << ": " << line;
    ASSERT_TRUE(work.problems().empty()) << work.problems().front();
    ASSERT_EQ(work.strays(rig.state), 0u) << "round " << round;
  }
  EXPECT_GT(work.decisions(), 300u);
  work.delete_everything();
  EXPECT_EQ(work.strays(rig.state), 0u);
  expect_sound(rig.state);
}

TEST_P(OnShape, RepeatsItselfExactly) {
  std::vector<trace::Event> first;
  for (int turn = 0; turn < 2; ++turn) {
    ModelFs fs(shape());
    Rng rng(11);
    ModelFiles old = add_old_files(fs, rng, 3, 500, 20);
    Rig rig(policy(), fs);
    Workload work(rig.allocator, fs, std::move(old), {.seed = 3});
    work.run(300);
    if (turn == 0)
      first = work.events();
    else
      EXPECT_EQ(work.events(), first);
  }
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
