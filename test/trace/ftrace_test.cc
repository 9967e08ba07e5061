// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "trace/packed.h"
#include "trace/support.h"

namespace e4r::trace {
namespace {

using test::read_text;

// One event of every kind, as Linux 6.1 prints it.
constexpr std::string_view kEveryKind =
    "# tracer: nop\n"
    "#\n"
    "# entries-in-buffer/entries-written: 19/19   #P:1\n"
    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
    "           churn-57      [000] .....     0.910000: ext4_allocate_inode: dev 98,0 ino 13 dir 2 "
    "mode 040755\n"
    "           churn-57      [003] d..2.     0.920001: ext4_request_blocks: dev 98,0 ino 13 flags "
    "HINT_DATA|HINT_NOPREALLOC|0x8000 len 4 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200 "
    "\n"
    "           churn-57      [000] .....     0.920001: ext4_mballoc_alloc: dev 98,0 inode 13 orig "
    "1/0/4@7 goal 1/-1/64@0 result 1/960/64@0 blks 8 grps 2 cr 3 flags HINT_DATA tail 15 broken "
    "16\n"
    "           churn-57      [000] .....     0.920001: ext4_allocate_blocks: dev 98,0 ino 13 "
    "flags "
    " len 4 block 33728 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200\n";

TEST(FtraceText, ReadsEveryFieldOfTheMainEvents) {
  const auto read = read_text(kEveryKind);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 4u);
  Event request;
  request.kind = EventKind::request_blocks;
  request.cpu = 3;
  request.pid = 57;
  request.dev = make_dev(98, 0);
  request.time_ns = 920001000;
  request.ino = 13;
  request.flags = mb::hint_data | mb::hint_noprealloc | mb::cr0_optimized;
  request.count = 4;
  request.logical = 7;
  request.goal = 100;
  request.lleft = 6;
  request.lright = 90;
  request.pleft = 99;
  request.pright = 200;
  EXPECT_EQ(read.events[1], request);
  Event closing;
  closing.kind = EventKind::mballoc_alloc;
  closing.pid = 57;
  closing.dev = make_dev(98, 0);
  closing.time_ns = 920001000;
  closing.ino = 13;
  closing.orig = {1, 0, 4, 7};
  closing.goal_ex = {1, -1, 64, 0};
  closing.result = {1, 960, 64, 0};
  closing.found = 8;
  closing.groups = 2;
  closing.criterion = Criterion::cr3;
  closing.flags = mb::hint_data;
  closing.tail = 15;
  closing.broken = 16;
  EXPECT_EQ(read.events[2], closing);
  EXPECT_EQ(read.events[3].flags, 0u);
  EXPECT_EQ(read.events[3].block, 33728u);
}

TEST(FtraceText, SummaryTellsFormatGenerationAndCounts) {
  const TraceSummary s = read_text(kEveryKind).summary;
  EXPECT_EQ(s.format, Format::ftrace);
  EXPECT_EQ(s.generation, Generation::v6_1);
  EXPECT_TRUE(s.generation_guessed);
  EXPECT_EQ(s.events, 4u);
  EXPECT_EQ(s.count(EventKind::request_blocks), 1u);
  EXPECT_EQ(s.first_ns, 910000000u);
  EXPECT_EQ(s.last_ns, 920001000u);
  EXPECT_EQ(s.lines, 8u);
}

TEST(PackedTrace, CursorsAreIndependent) {
  const auto packed = load_packed_bytes(kEveryKind, "t");
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const auto first = packed->cursor(), second = packed->cursor();
  EXPECT_EQ(first->next()->size(), 4u);
  EXPECT_TRUE(first->next()->empty());
  EXPECT_EQ(second->next()->size(), 4u);
  EXPECT_EQ(packed->device(), make_dev(98, 0));
}

}  // namespace
}  // namespace e4r::trace
