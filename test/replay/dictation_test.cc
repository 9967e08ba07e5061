// SPDX-License-Identifier: GPL-2.0-or-later
// What is led by the trace, and what is read out of it.
#include "replay/dictation.h"

#include <gtest/gtest.h>

#include <optional>

#include "support/full_groups.h"

namespace e4r::test {
namespace {

using mb::Criterion;
using replay::Dictation;
using replay::Op;

Op closed(const allocator::Request& request, bool prealloc, const trace::GroupExtent& result) {
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

struct Dictated : FullGroups {
  void start(std::string_view policy = "linux-6.12") {
    rig.emplace(policy, fs, tunables);
    load_all(rig->state);
  }
};

// A trimmed goal hides how long it was; where the find was placed in the file shows it.
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
    Dictation dictation(op, rig->allocator);
    EXPECT_EQ(rig->allocator.allocate(r, &dictation).inputs.size, step) << placed;
  }
}

TEST_F(Dictated, WhatTheModelWouldHaveChosenIsKept) {
  fs.free(3, 100, 50);
  fs.free(9, 100, 50);
  start();
  const allocator::Request r = metadata_request(10, 0);
  const Op op = closed(r, false, {9, 120, 10, 0});
  Dictation dictation(op, rig->allocator);
  const allocator::Decision d = rig->allocator.allocate(r, &dictation);
  EXPECT_TRUE(dictation.forced());
  EXPECT_EQ(d.result.group, 9u);
  const allocator::Decision own = dictation.judged(d);
  EXPECT_EQ(own.result.group, 3u);
  EXPECT_EQ(own.result.start, 100u);
  EXPECT_FALSE(own.prealloc);
}

// The trace says that a preallocation served it; none of the model's does.
TEST_F(Dictated, APreallocationThatTheModelHasNot) {
  fs.free(3, 100, 50);
  start();
  allocator::Request r = data_request(20, 4, 0);
  r.inputs_exact = false;
  const Op op = closed(r, true, {3, 110, 4, 0});
  Dictation dictation(op, rig->allocator);
  const allocator::Decision d = rig->allocator.allocate(r, &dictation);
  EXPECT_TRUE(d.prealloc);
  EXPECT_TRUE(dictation.forced());
  EXPECT_EQ(d.inputs.mode, allocator::Mode::group) << "the inode has none that explains it";
  EXPECT_FALSE(dictation.judged(d).prealloc);
  EXPECT_EQ(dictation.judged(d).result.len, 0u);
}

TEST_F(Dictated, NoSpaceMayBeRight) {
  start();
  const allocator::Request r = metadata_request(10, 0);
  const Op op = closed(r, false, {0, 0, 0, 0});
  Dictation dictation(op, rig->allocator);
  EXPECT_FALSE(rig->allocator.allocate(r, &dictation).success);
  EXPECT_FALSE(dictation.forced());
}

}  // namespace
}  // namespace e4r::test
