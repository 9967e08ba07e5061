// SPDX-License-Identifier: GPL-2.0-or-later
// Tests how recorded results are imposed on the model, and which inputs are deduced from them.
#include "replay/dictation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "support/drivers.h"
#include "support/full_groups.h"

namespace e4r::test {
namespace {

using mb::Criterion;
using replay::Dictation;
using replay::Op;

// Whether the search is known to have passed over the group.
bool passes(const allocator::PassedOver& passed, std::uint32_t group) {
  return std::ranges::count(passed.entries(), group, &allocator::PassedOver::Entry::group) == 1;
}

Op closed(const allocator::Request& request, bool prealloc, const trace::RecordedExtent& result) {
  Op op;
  op.kind = Op::Kind::allocate;
  op.ino = request.ino;
  op.flags = request.flags;
  op.closing.seen = true;
  op.closing.prealloc = prealloc;
  op.closing.result = result;
  op.closing.flags = request.flags;
  return op;
}

trace::RecordedExtent recorded(const Extent& e) {
  return {e.group, static_cast<std::int32_t>(e.start), e.len, e.logical};
}

// The recording of a search's decision.
Op closed(const allocator::Request& request, const allocator::Decision& decision) {
  Op op = closed(request, false, recorded(decision.result));
  op.closing.orig = recorded(decision.orig);
  op.closing.goal = recorded(decision.goal);
  op.closing.found = decision.found;
  op.closing.groups = decision.groups_scanned;
  op.closing.criterion = decision.criterion;
  op.closing.tail = decision.tail;
  op.closing.broken = decision.broken;
  return op;
}

struct Dictated : FullGroups {
  void start(std::string_view policy = "linux-6.12") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
  // Follows a recording of 7.3's decision, which the model must be able to make.
  [[nodiscard]] allocator::Decision follow(const allocator::Request& request,
                                           const allocator::Decision& made) {
    const Op op = closed(request, made);
    start("linux-7.3");
    Dictation dictation(op, rig->allocator, spans);
    allocator::Decision out = rig->allocator.allocate(request, &dictation);
    EXPECT_FALSE(dictation.forced());
    return out;
  }
  replay::Spans spans;
};

// The trace does not contain the original length of a trimmed goal. But the position of the found
// extent in the file shows this length.
TEST_F(Dictated, WhereTheFindWasPlacedShowsTheGoalBeforeTrimming) {
  free_runs(fs, 7, 4, 200, 5);
  allocator::Request r = data_request(20, 8, 0);
  r.inputs_exact = false;
  r.logical = 500;
  Op op = closed(r, false, {7, 4, 128, 0});
  op.closing.goal = {0, 0, 128, 0};
  op.closing.found = 1;
  op.closing.criterion = Criterion::best_avail;
  for (const auto& [placed, step] :
       {std::pair{384u, allocator::SizeStep::m4}, std::pair{500u, allocator::SizeStep::m8}}) {
    start();
    op.placed_at = placed;
    Dictation dictation(op, rig->allocator, spans);
    EXPECT_EQ(rig->allocator.allocate(r, &dictation).inputs.size, step) << placed;
  }
}

TEST_F(Dictated, WhatTheModelWouldHaveChosenIsKept) {
  fs.free(3, 100, 50);
  fs.free(9, 100, 50);
  start();
  const allocator::Request r = metadata_request(10, 0);
  const Op op = closed(r, false, {9, 120, 10, 0});
  Dictation dictation(op, rig->allocator, spans);
  const allocator::Decision d = rig->allocator.allocate(r, &dictation);
  EXPECT_TRUE(dictation.forced());
  EXPECT_EQ(d.result.group, 9u);
  const allocator::Decision own = dictation.models_decision(d);
  EXPECT_EQ(own.result.group, 3u);
  EXPECT_EQ(own.result.start, 100u);
  EXPECT_FALSE(own.prealloc);
}

// According to the trace, a preallocation served the request, but the model does not have this
// preallocation.
TEST_F(Dictated, APreallocationThatTheModelHasNot) {
  fs.free(3, 100, 50);
  start();
  allocator::Request r = data_request(20, 4, 0);
  r.inputs_exact = false;
  const Op op = closed(r, true, {3, 110, 4, 0});
  Dictation dictation(op, rig->allocator, spans);
  const allocator::Decision d = rig->allocator.allocate(r, &dictation);
  EXPECT_TRUE(d.prealloc);
  EXPECT_TRUE(dictation.forced());
  EXPECT_EQ(d.inputs.mode, allocator::Mode::group) << "the inode has none that explains it";
  EXPECT_FALSE(dictation.models_decision(d).prealloc);
  EXPECT_EQ(dictation.models_decision(d).result.len, 0u);
}

// Each group in `locked` and `others` could serve the request. Other CPUs hold the locks of the
// groups in `locked` when a search first visits them.
struct LockedGroups : Dictated {
  explicit LockedGroups(const std::vector<std::uint32_t>& locked)
      : LockedGroups(locked, {7}, metadata_request(300, 0), {4, 600}) {}
  // `space`: the free clusters of each group.
  LockedGroups(const std::vector<std::uint32_t>& locked, const std::vector<std::uint32_t>& others,
               const allocator::Request& asked, ClusterRange space)
      : held(locked), request(asked) {
    std::vector<std::uint32_t> all = held;
    all.insert(all.end(), others.begin(), others.end());
    for (const std::uint32_t group : all) fs.free(group, space.first, space.count);
    start("linux-7.3");
    allocator::Request skipping = request;
    for (const std::uint32_t group : held) skipping.inputs.passed_over.add(group);
    skipped = rig->allocator.allocate(skipping);
    kernels = rig->allocator.counters();
    op = closed(request, skipped);
  }
  [[nodiscard]] allocator::Decision follow(std::string_view policy, bool* forced) {
    start(policy);
    Dictation dictation(op, rig->allocator, spans);
    const allocator::Decision d = rig->allocator.allocate(request, &dictation);
    *forced = dictation.forced();
    return d;
  }

  // Checks that the model repeats the kernel's search, and counts it once.
  void expect_passed_over() {
    ASSERT_EQ(skipped.result.group, 7u);
    bool forced = true;
    const allocator::Decision d = follow("linux-7.3", &forced);
    EXPECT_FALSE(forced);
    EXPECT_EQ(d.result.group, 7u);
    EXPECT_EQ(d.found, skipped.found);
    EXPECT_EQ(d.groups_scanned, skipped.groups_scanned);
    EXPECT_EQ(d.criterion, skipped.criterion);
    EXPECT_EQ(counters().requests, 1u);
    EXPECT_EQ(counters().groups_scanned, kernels.groups_scanned);
    EXPECT_EQ(counters().extents_scanned, kernels.extents_scanned);
    for (std::size_t i = 0; i < mb::kCriteria; ++i) {
      EXPECT_EQ(counters().by_criterion[i].hits, kernels.by_criterion[i].hits) << i;
      EXPECT_EQ(counters().by_criterion[i].groups_considered,
                kernels.by_criterion[i].groups_considered)
          << i;
      EXPECT_EQ(counters().by_criterion[i].extents_scanned, kernels.by_criterion[i].extents_scanned)
          << i;
    }
    for (const std::uint32_t group : held) {
      EXPECT_TRUE(passes(d.inputs.passed_over, group));
      EXPECT_EQ(rig->state.group(group).free, 600u) << "nothing of it was taken";
    }
    for (const std::string& line : rig->state.check(5)) ADD_FAILURE() << line;
  }

  std::vector<std::uint32_t> held;  // numbers of the locked groups
  allocator::Request request;
  allocator::Decision skipped;
  allocator::Counters kernels;
  Op op;
};
struct LockedGroup : LockedGroups {
  LockedGroup() : LockedGroups({3}) {}
};
struct TwoLockedGroups : LockedGroups {
  TwoLockedGroups() : LockedGroups({3, 4}) {}
};

TEST_F(LockedGroup, IsPassedOverWhereTheKernelDid) {
  expect_passed_over();
}

TEST_F(TwoLockedGroups, ArePassedOverTogether) {
  expect_passed_over();
}

// CR2 scans both groups and takes nothing from the first. So only the counts show that the kernel
// skipped the first group.
TEST_F(Dictated, AGroupThatIsOnlyScannedMayBePassedOver) {
  free_runs(fs, 3, 4, 200, 2);
  fs.free(7, 4, 350);
  free_runs(fs, 7, 600, 2, 40);
  const allocator::Request request = metadata_request(300, 0);
  start("linux-7.3");
  const allocator::Decision free = rig->allocator.allocate(request);
  ASSERT_EQ(free.criterion, Criterion::cr2);
  ASSERT_EQ(free.groups_scanned, 2u);
  for (const unsigned visit : {0u, 1u, 2u}) {
    allocator::Request skipping = request;
    skipping.inputs.passed_over.add(3, visit);
    start("linux-7.3");
    const allocator::Decision skipped = rig->allocator.allocate(skipping);
    if (skipped.groups_scanned == 2) continue;  // this visit scans nothing
    ASSERT_EQ(skipped.result.group, 7u);
    const allocator::Decision d = follow(request, skipped);
    EXPECT_EQ(d.found, skipped.found);
    EXPECT_EQ(d.groups_scanned, 1u);
    EXPECT_EQ(d.inputs.passed_over.entries().size(), 1u);
    EXPECT_TRUE(passes(d.inputs.passed_over, 3));
    for (const std::string& line : rig->state.check(5)) ADD_FAILURE() << line;
    return;
  }
  ADD_FAILURE() << "no visit scans the group";
}

// Another search walks the same groups at the same time, so it delays this search several times.
TEST_F(Dictated, SeveralGroupsThatAreOnlyScannedMayBePassedOver) {
  // The sum of the numbers of runs shows which groups were scanned.
  for (const auto& [group, runs] : {std::pair{3u, 16u}, {4u, 18u}, {5u, 21u}, {6u, 25u}})
    free_runs(fs, group, 4, 20, runs);
  fs.free(7, 4, 350);
  free_runs(fs, 7, 600, 2, 40);
  const allocator::Request request = metadata_request(300, 0);
  const auto allocate = [&](const allocator::Request& from, allocator::Guide* guide) {
    start("linux-7.3");
    return rig->allocator.allocate(from, guide);
  };
  const allocator::Decision free = allocate(request, nullptr);
  ASSERT_EQ(free.criterion, Criterion::cr2);
  ASSERT_EQ(free.groups_scanned, 5u);
  for (const unsigned visit : {0u, 1u, 2u}) {
    allocator::Request skipping = request;
    for (const std::uint32_t group : {3u, 5u, 6u}) skipping.inputs.passed_over.add(group, visit);
    const allocator::Decision skipped = allocate(skipping, nullptr);
    if (skipped.groups_scanned == 5) continue;  // these visits scan nothing
    ASSERT_EQ(skipped.groups_scanned, 2u);
    const allocator::Decision d = follow(request, skipped);
    EXPECT_EQ(d.found, skipped.found);
    EXPECT_EQ(d.groups_scanned, 2u);
    EXPECT_TRUE(
        std::ranges::equal(d.inputs.passed_over.entries(), skipping.inputs.passed_over.entries()));
    return;
  }
  ADD_FAILURE() << "no visit scans the groups";
}

// If best-avail walks from group to group, it does not trim the goal.
TEST_F(Dictated, AWalkOfBestAvailKeepsTheGoal) {
  fs.free(3, 4, 600);
  tunables.mb_optimize_scan = 0;
  allocator::Request request = data_request(20, 30, 0);
  request.size_hint = 30 << 12;
  for (unsigned visit = 0; visit < 2; ++visit) request.inputs.passed_over.add(3, visit);
  start("linux-7.3");
  const allocator::Decision skipped = rig->allocator.allocate(request);
  ASSERT_EQ(skipped.criterion, Criterion::best_avail);
  ASSERT_EQ(skipped.goal.len, 32u);
  const Op op = closed(request, skipped);
  request.inputs = {};
  request.inputs_exact = false;
  request.size_hint = 1 << 20;  // the model would try a longer goal first
  start("linux-7.3");
  Dictation dictation(op, rig->allocator, spans);
  const allocator::Decision d = rig->allocator.allocate(request, &dictation);
  EXPECT_FALSE(dictation.forced());
  EXPECT_EQ(d.criterion, Criterion::best_avail);
  EXPECT_EQ(d.goal.len, skipped.goal.len);
  EXPECT_TRUE(same_clusters(d.result, skipped.result));
}

// The lock was free again when a later criterion visited the group. The clusters are the same as
// without the lock, so only the criterion shows it.
struct FreeAgain : LockedGroups {
  FreeAgain() : LockedGroups({3}, {}, metadata_request(256, 0), {256, 256}) {}
};

TEST_F(FreeAgain, IsPassedOverOnce) {
  ASSERT_EQ(skipped.result.group, 3u);
  ASSERT_EQ(skipped.criterion, Criterion::cr1);
  bool forced = true;
  const allocator::Decision d = follow("linux-7.3", &forced);
  EXPECT_FALSE(forced);
  EXPECT_EQ(d.criterion, skipped.criterion);
  EXPECT_EQ(d.found, skipped.found);
  EXPECT_EQ(d.inputs.passed_over.entries().size(), 1u);
  EXPECT_EQ(counters().requests, 1u);
  EXPECT_EQ(counters().extents_scanned, kernels.extents_scanned);
}

// If no locked group explains the criterion, the model keeps its own, and the recorded clusters are
// not forced upon it.
TEST_F(FreeAgain, IsNotPassedOverWhereThatExplainsNothing) {
  ++op.closing.found;
  bool forced = true;
  const allocator::Decision d = follow("linux-7.3", &forced);
  EXPECT_FALSE(forced);
  EXPECT_EQ(d.criterion, Criterion::cr0);
  EXPECT_EQ(d.result.start, skipped.result.start);
  EXPECT_TRUE(d.inputs.passed_over.empty());
  EXPECT_EQ(counters().requests, 1u);
  EXPECT_EQ(counters()[Criterion::cr0].hits, 1u);
  for (const std::string& line : rig->state.check(5)) ADD_FAILURE() << line;
}

// Kernels with lists of groups do not skip a locked group, but wait for its lock.
TEST_F(LockedGroup, IsNotPassedOverByKernelsThatWait) {
  bool forced = false;
  const allocator::Decision d = follow("linux-6.14", &forced);
  EXPECT_TRUE(forced);
  EXPECT_TRUE(d.inputs.passed_over.empty());
}

// If a search without the group gives the same result, this does not prove that the kernel skipped
// the locked group. The search must reproduce every recorded fact.
TEST_F(LockedGroup, IsNotPassedOverWhereThatIsNotTheWholeDecision) {
  const replay::Closing right = op.closing;
  const auto differ = [&](auto change) {
    op.closing = right;
    change(op.closing);
    bool forced = false;
    const allocator::Decision d = follow("linux-7.3", &forced);
    EXPECT_TRUE(forced);
    EXPECT_TRUE(d.inputs.passed_over.empty());
    EXPECT_EQ(d.result.group, op.closing.result.group);
    for (const std::string& line : rig->state.check(5)) ADD_FAILURE() << line;
  };
  differ([](replay::Closing& c) { ++c.found; });
  differ([](replay::Closing& c) { ++c.groups; });
  differ([](replay::Closing& c) { c.criterion = Criterion::cr3; });
  differ([](replay::Closing& c) { c.result.start += 100; });
  differ([](replay::Closing& c) { c.goal.len = 299; });
}

// The skipped group is an input of the decision, so a free-running replay also skips it.
TEST_F(LockedGroup, IsPassedOverByWhoDecidesAlone) {
  start("linux-7.3");
  allocator::Request skipping = request;
  skipping.inputs.passed_over.add(3);
  KernelTraceWriter writer(false);
  const auto open = writer.open({}, request, request.len);
  const allocator::Decision d = rig->allocator.allocate(skipping);
  writer.finish(open, d);
  replay::WarmStart warm;  // all groups are loaded
  replay::InputTable inputs;
  const auto run = [&](Driver driver) {
    return replay_as(driver, fs.source(), rig->allocator.policy(), tunables, writer.events(),
                     inputs, checked_every(1), &warm);
  };
  const Replayed followed = run(Driver::follow);
  ASSERT_TRUE(followed.status.ok());
  EXPECT_EQ(followed.engine->agreement().identical, 1u);
  EXPECT_EQ(followed.engine->agreement().skips, 1u);
  ASSERT_EQ(inputs.known.size(), 1u);
  EXPECT_TRUE(passes(inputs.known[0].passed_over, 3));
  EXPECT_EQ(run(Driver::free_run).engine->agreement().identical, 1u);
  inputs.known[0].passed_over = {};
  EXPECT_EQ(run(Driver::free_run).engine->agreement().identical, 0u);
}

TEST_F(Dictated, NoSpaceMayBeRight) {
  start();
  const allocator::Request r = metadata_request(10, 0);
  const Op op = closed(r, false, {0, 0, 0, 0});
  Dictation dictation(op, rig->allocator, spans);
  EXPECT_FALSE(rig->allocator.allocate(r, &dictation).success);
  EXPECT_FALSE(dictation.forced());
}

}  // namespace
}  // namespace e4r::test
