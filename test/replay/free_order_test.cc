// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/free_order.h"

#include <gtest/gtest.h>

namespace e4r::replay {
namespace {

using state::FreedList;

// Frees extents of group 3 in the order of their events, after two threads have freed others.
class Frees {
 public:
  Frees() {
    for (const std::uint32_t pid : {8, 9}) {
      Op op;
      op.kind = Op::Kind::free;
      op.pid = pid;
      order.note(op, freed, 0);
    }
  }
  void free(std::uint32_t pid, std::uint32_t start, std::uint32_t count) {
    Op op = next(Op::Kind::free, pid);
    op.group = 3;
    op.start = start;
    op.count = count;
    order.note(op, freed, 1);
    EXPECT_TRUE(freed.add(3, start, count, 1, op.ordinal));
  }
  void do_something_else(std::uint32_t pid) {
    order.note(next(Op::Kind::discard_inode, pid), freed, 1);
  }
  [[nodiscard]] std::vector<FreeOrder::Other> others(std::size_t most = 9) {
    return order.find_others(3, freed.group(3), most);
  }

  FreeOrder order{state::FreedMerging::parent};
  FreedList freed{state::FreedMerging::parent};

 private:
  Op next(Op::Kind kind, std::uint32_t pid) {
    Op op;
    op.kind = kind;
    op.pid = pid;
    op.ordinal = ++event_;
    return op;
  }
  std::uint64_t event_ = 0;
};

// If 10 was freed before 20, an extent between them becomes a child of 20 in the tree, and merges
// with it. If 20 was freed first, the extent becomes a child of 10, and does not merge.
TEST(FreeOrder, FindsTheOrderThatLeadsToOtherExtents) {
  Frees frees;
  frees.free(1, 10, 2);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  ASSERT_EQ(frees.freed.entries().size(), 2u);
  const auto others = frees.others();
  ASSERT_FALSE(others.empty());
  EXPECT_EQ(others[0].event, 1u);
  EXPECT_EQ(others[0].after, 2u);
  EXPECT_EQ(others[0].freed.entries.size(), 3u);
  EXPECT_EQ(frees.others(1).size(), 1u);
  frees.freed.set_group(3, others[0].freed);
  EXPECT_TRUE(frees.others().empty());  // the recorded order does not lead to this
  frees.order.keep(3, others[0]);
  EXPECT_EQ(frees.freed.group(3), others[0].freed);
  EXPECT_FALSE(frees.others().empty());
}

TEST(FreeOrder, AFreeTakesEffectBeforeItsThreadGoesOn) {
  Frees frees;
  frees.free(1, 10, 2);
  frees.do_something_else(1);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  EXPECT_TRUE(frees.others().empty());
}

TEST(FreeOrder, FollowsACommitInParts) {
  Frees frees;
  for (const std::uint32_t start : {40, 50, 60}) frees.free(1, start, 2);
  (void)frees.freed.take_committed(1, 1);
  frees.free(1, 10, 2);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  EXPECT_TRUE(frees.others().empty());  // the part was not noted
  Frees noted;
  for (const std::uint32_t start : {40, 50, 60}) noted.free(1, start, 2);
  (void)noted.freed.take_committed(1, 1);
  noted.order.note_returned(1, 1);
  noted.free(1, 10, 2);
  noted.free(2, 20, 2);
  noted.free(2, 15, 5);
  ASSERT_FALSE(noted.others().empty());
  EXPECT_EQ(noted.others().front().event, 4u);
}

TEST(FreeOrder, NotesNothingOfASingleThread) {
  FreeOrder order(state::FreedMerging::parent);
  FreedList freed(state::FreedMerging::parent);
  Op op;
  op.kind = Op::Kind::free;
  op.pid = 7;
  op.count = 2;
  for (op.ordinal = 1; op.ordinal < 9; ++op.ordinal) {
    order.note(op, freed, 1);
    op.start += 10;
  }
  EXPECT_TRUE(order.find_others(0, freed.group(0), 9).empty());
}

TEST(FreeOrder, ForgetsWhatWasNotedSinceAMark) {
  Frees frees;
  frees.free(1, 10, 2);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  const FreedList::Group now = frees.freed.group(3);
  const auto before = frees.others();
  ASSERT_FALSE(before.empty());
  frees.order.set_mark();
  for (int i = 0; i < 2; ++i) {
    frees.free(1, 40, 2);
    frees.order.keep(3, before[0]);
    frees.order.note_returned(1, 2);
    EXPECT_TRUE(frees.others().empty());  // the order that was kept leads to other extents
    frees.order.return_to_mark();
    frees.freed.set_group(3, now);
    const auto after = frees.others();
    ASSERT_EQ(after.size(), before.size());
    EXPECT_EQ(after[0].freed, before[0].freed);
  }
}

// The earlier frees are not known, so the shape of the tree is not known either.
TEST(FreeOrder, SaysNothingOfAGroupWhoseFirstFreesItMissed) {
  Frees frees;
  EXPECT_TRUE(frees.freed.add(3, 100, 1, 1, 0));
  frees.free(1, 10, 2);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  EXPECT_TRUE(frees.others().empty());
  (void)frees.freed.take_committed(1);
  frees.free(1, 10, 2);
  frees.free(2, 20, 2);
  frees.free(2, 15, 5);
  EXPECT_FALSE(frees.others().empty());
}

}  // namespace
}  // namespace e4r::replay
