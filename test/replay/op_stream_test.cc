// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/model.h"

namespace e4r::replay {
namespace {

using trace::Event;
using trace::EventKind;

// Builds a trace event by event. `ino` distinguishes allocations.
struct Script {
  Event& add(EventKind kind, std::uint32_t pid, std::uint64_t ino = 0) {
    Event& e = events.emplace_back();
    e.kind = kind;
    e.pid = pid;
    e.ino = ino;
    return e;
  }
  void request(std::uint32_t pid, std::uint64_t ino) {
    add(EventKind::request_blocks, pid, ino).count = 4;
  }
  void answer(std::uint32_t pid, std::uint64_t ino, std::uint64_t block = 500) {
    Event& e = add(EventKind::allocate_blocks, pid, ino);
    e.block = block;
    e.count = 3;
  }
  void close(std::uint32_t pid, std::uint64_t ino, bool prealloc = false) {
    add(prealloc ? EventKind::mballoc_prealloc : EventKind::mballoc_alloc, pid, ino).found = 9;
  }
  void free(std::uint32_t pid, std::uint32_t group) {
    add(EventKind::mballoc_free, pid).result = {group, 5, 6, 0};
  }

  Geometry geometry = {
      .blocks_count = 8000, .blocks_per_group = 800, .clusters_per_group = 800, .groups = 10};
  // Returns the operations in short form: a<inode>, f<group>, l<group>, and so on.
  std::string replayed(std::size_t batch = 1) {
    test::MemorySource source(events, batch);
    OpStream stream(source, geometry, false);
    std::string out;
    ops.clear();
    for (;;) {
      const auto op = stream.next();
      if (!op.ok() || *op == nullptr) break;
      ops.push_back(**op);
      out += name(**op) + " ";
    }
    unanswered = stream.unanswered();
    return out;
  }
  static std::string name(const Op& op) {
    switch (op.kind) {
      case Op::Kind::allocate:
        return fmt::format("a{}", op.ino);
      case Op::Kind::free:
        return fmt::format("f{}", op.group);
      case Op::Kind::discard_inode:
        return fmt::format("d{}", op.ino);
      case Op::Kind::load_group:
        return fmt::format("l{}", op.group);
      case Op::Kind::reload_group:
        return fmt::format("r{}", op.group);
      case Op::Kind::reclaim_group:
        return fmt::format("c{}", op.group);
      case Op::Kind::commit_until:
      case Op::Kind::hide:
      case Op::Kind::reveal:
      case Op::Kind::unlink_until:
        return "until";
      case Op::Kind::returned:
        return fmt::format("b{}/{}/{}", op.group, op.start, op.count);
      case Op::Kind::discard_blocks:
        return fmt::format("s{}/{}/{}", op.group, op.start, op.count);
      case Op::Kind::discarded:
        return fmt::format("e{}", op.request);
      case Op::Kind::trim_group:
        return fmt::format("t{}/{}/{}", op.group, op.start, op.count);
      case Op::Kind::prefetched:
        return fmt::format("p{}-{}", op.group, op.count);
      case Op::Kind::collapse_range:
        return fmt::format("-{}@{}", op.count, op.logical);
      case Op::Kind::insert_range:
        return fmt::format("+{}@{}", op.count, op.logical);
      case Op::Kind::allocate_inode:
        return fmt::format("i{}", op.ino);
      case Op::Kind::free_inode:
        return fmt::format("u{}", op.ino);
      case Op::Kind::commit_flushing:
        return "F";
      case Op::Kind::end_commit:
        return "E";
      case Op::Kind::lost:
        return "?";
      case Op::Kind::nothing:
        break;
    }
    return "nothing";
  }

  std::vector<Event> events;
  std::vector<Op> ops;
  std::uint64_t unanswered = 0;
};

TEST(OpStream, APlainAllocationTakesEffectAtItsRequest) {
  Script s;
  s.request(1, 20);
  s.free(2, 7);
  s.close(1, 20);
  s.free(2, 8);
  s.answer(1, 20);
  for (const std::size_t batch : {1u, 2u, 3u, 100u}) EXPECT_EQ(s.replayed(batch), "a20 f7 f8 ");
  EXPECT_EQ(s.ops[0].ordinal, 1u);
  EXPECT_EQ(s.ops[0].request_len, 4u);
  EXPECT_EQ(s.ops[0].block, 500u);
  EXPECT_EQ(s.ops[0].len, 3u);
  EXPECT_TRUE(s.ops[0].closing.seen);
  EXPECT_FALSE(s.ops[0].closing.prealloc);
  EXPECT_EQ(s.ops[0].closing.found, 9u);
  EXPECT_EQ(s.ops[1].start, 5u);
  EXPECT_EQ(s.ops[1].count, 6u);
}

// A probe shows when a search took its clusters, so neither the event of a new preallocation nor a
// free of other clusters in between moves the allocation.
TEST(OpStream, AProbeShowsWhereASearchTakesEffect) {
  Script s;
  s.request(1, 20);
  s.free(2, 7);
  s.add(EventKind::mark_used, 1);
  s.free(2, 8);
  s.add(EventKind::new_inode_pa, 1);
  s.close(1, 20);
  s.free(2, 9);
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "f7 a20 f8 f9 ");
  EXPECT_TRUE(s.ops[1].marked);
  EXPECT_EQ(s.ops[1].ordinal, 3u);
}

// A probe of a thread that is not allocating shows what a commit returns. Without a commit, it
// shows nothing new.
TEST(OpStream, AProbeShowsWhatACommitReturns) {
  Script s;
  const auto give = [&](std::uint32_t pid) {
    Event& e = s.add(EventKind::mark_freed, pid);
    e.group = 7;
    e.logical = 5;
    e.count = 6;
  };
  s.free(2, 7);
  give(2);
  s.add(EventKind::commit_flushing, 9);
  s.request(1, 20);
  give(1);
  give(9);
  s.close(1, 20);
  s.answer(1, 20);
  s.add(EventKind::end_commit, 9);
  give(9);
  const std::string ops = s.replayed();
  EXPECT_EQ(std::ranges::count(ops, 'b'), 1) << ops;
  EXPECT_NE(ops.find("b7/5/6 "), std::string::npos) << ops;
}

TEST(OpStream, ADiscardIsOfClusters) {
  Script s;
  s.free(2, 7);
  Event& e = s.add(EventKind::discard_blocks, 3);
  e.block = s.geometry.first_block(1) + 5;
  e.count = 6;
  EXPECT_EQ(s.replayed(), "f7 s1/5/6 ");
}

// A call that removes or inserts a range takes effect after its thread has discarded the file's
// preallocations. The event alone does not show that, because the call may fail.
TEST(OpStream, ARangeOfAFileMovesWhenItsThreadDiscards) {
  Script s;
  const std::uint64_t block = std::uint64_t{1} << s.geometry.block_bits;
  const auto call = [&](EventKind kind, std::uint32_t pid, std::uint64_t ino, std::uint64_t at,
                        std::uint64_t bytes) {
    Event& e = s.add(kind, pid);
    e.ino = ino;
    e.logical = at;
    e.count = bytes;
  };
  const auto discard = [&](std::uint32_t pid, std::uint64_t ino) {
    s.add(EventKind::discard_preallocations, pid).ino = ino;
  };
  call(EventKind::collapse_range, 1, 20, 3 * block, 2 * block);
  discard(2, 20);
  discard(1, 20);
  discard(1, 20);
  call(EventKind::insert_range, 1, 20, 0, block);
  discard(1, 21);  // the thread has gone on to another file, so the call failed
  discard(1, 20);
  call(EventKind::insert_range, 1, 20, 5 * block, block);
  call(EventKind::insert_range, 1, 20, 7 * block, block);
  discard(1, 20);
  call(EventKind::insert_range, 1, 20, 7 * block, block);
  call(EventKind::insert_range, 1, 20, 7 * block + 1, block);
  discard(1, 20);
  call(EventKind::insert_range, 1, 20, 7 * block, block - 1);
  discard(1, 20);
  call(EventKind::insert_range, 1, 20, 7 * block, 0);
  discard(1, 20);
  EXPECT_EQ(s.replayed(), "d20 -2@3 d20 d20 d21 d20 +1@7 d20 d20 d20 d20 ");
}

// The discards of the thread that called FITRIM belong to the trim, until the thread has another
// event.
TEST(OpStream, DiscardsOfATrimAreThoseOfItsThread) {
  Script s;
  const auto trim = [&](std::uint32_t pid, std::uint32_t group) {
    Event& e = s.add(EventKind::trim_all_free, pid);
    e.group = group;
    e.logical = 7;
    e.count = 799;
  };
  const auto discard = [&](std::uint32_t pid, std::uint32_t group) {
    Event& e = s.add(EventKind::discard_blocks, pid);
    e.block = s.geometry.first_block(group) + 10;
    e.count = 2;
  };
  trim(1, 3);
  discard(1, 3);
  discard(2, 3);
  s.add(EventKind::buddy_bitmap_load, 1).group = 3;
  discard(1, 3);
  trim(2, 4);
  trim(1, 4);
  discard(2, 4);
  s.free(1, 4);
  discard(1, 4);
  discard(2, 5);
  EXPECT_EQ(
      s.replayed(),
      "t3/7/793 s3/10/2 s3/10/2 l3 s3/10/2 e0 t4/7/793 e1 t4/7/793 s4/10/2 f4 s4/10/2 s5/10/2 ");
  std::vector<std::uint64_t> of;
  for (const Op& op : s.ops) of.push_back(op.request);
  EXPECT_EQ(of, (std::vector<std::uint64_t>{1, 1, 0, 0, 1, 0, 2, 1, 3, 2, 0, 0, 0}));
}

// A range that is being discarded is in use until the thread's next event. This time is limited to
// four times the time that an earlier range took, or to a tenth of a second if that is longer.
TEST(OpStream, WhenTheDeviceHasBeenToldOfARange) {
  Script s;
  constexpr std::uint64_t kMs = 1'000'000;
  const auto at = [&](std::uint64_t ms, EventKind kind, std::uint32_t pid) -> Event& {
    Event& e = s.add(kind, pid);
    e.time_ns = ms * kMs;
    return e;
  };
  at(1, EventKind::trim_all_free, 1).count = 799;
  at(2, EventKind::discard_blocks, 1).count = 2;
  at(52, EventKind::discard_blocks, 1).count = 3;  // took 50 ms
  at(251, EventKind::allocate_inode, 2).ino = 20;
  at(252, EventKind::allocate_inode, 2).ino = 21;
  at(253, EventKind::discard_blocks, 3).count = 4;  // sent by the worker thread
  at(352, EventKind::allocate_inode, 2).ino = 22;
  at(353, EventKind::allocate_inode, 2).ino = 23;
  at(353, EventKind::allocate_inode, 3).ino = 24;
  EXPECT_EQ(s.replayed(), "t0/0/800 s0/0/2 s0/0/3 i20 e1 i21 s0/0/4 i22 e0 i23 i24 ");
}

// A real trace never has as many threads that trim as this one.
TEST(OpStream, VeryManyThreadsThatTrimAreForgotten) {
  Script s;
  constexpr std::uint32_t kMost = 64;
  for (std::uint32_t pid = 1; pid <= kMost + 1; ++pid) {
    s.add(EventKind::trim_all_free, pid).count = 799;
    s.add(EventKind::discard_blocks, pid).count = 2;
  }
  (void)s.replayed();
  EXPECT_EQ(std::ranges::count(s.ops, Op::Kind::discarded, &Op::kind), kMost);
}

// The end of the range is before its start. A field of a trace may have any value.
TEST(OpStream, ATrimOfNothing) {
  Script s;
  Event& e = s.add(EventKind::trim_all_free, 1);
  e.logical = ~0ull;
  EXPECT_EQ(s.replayed(), "t0/4294967295/0 ");
}

TEST(OpStream, ANewPreallocationTakesEffectWhereItIsMade) {
  for (const EventKind kind : {EventKind::new_inode_pa, EventKind::new_group_pa}) {
    Script s;
    s.request(1, 20);
    s.free(2, 7);
    s.add(kind, 1, 20);
    s.free(2, 8);
    s.close(1, 20);
    s.answer(1, 20);
    EXPECT_EQ(s.replayed(), "f7 a20 f8 ");
    EXPECT_EQ(s.ops[1].ordinal, 3u);
  }
}

TEST(OpStream, APreallocationHitTakesEffectAtItsClosingEvent) {
  Script s;
  s.request(1, 20);
  s.free(2, 7);
  s.close(1, 20, true);
  s.free(2, 8);
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "f7 a20 f8 ");
  EXPECT_TRUE(s.ops[1].closing.prealloc);
}

// If a free made a search's result available, the search came after this free.
TEST(OpStream, WhatWasFreedSinceTheRequestIsTakenAfterwards) {
  Script s;
  s.request(1, 20);
  s.free(2, 7);  // clusters 5 to 10
  s.close(1, 20);
  s.events.back().result = {7, 10, 3, 0};
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "f7 a20 ");
  s.events[2].result = {7, 11, 3, 0};
  EXPECT_EQ(s.replayed(), "a20 f7 ");
  s.events[2].result = {8, 10, 3, 0};
  EXPECT_EQ(s.replayed(), "a20 f7 ");
  // Frees of the same thread are part of the allocation.
  s.events[1].pid = 1;
  s.events[2].result = {7, 10, 3, 0};
  EXPECT_EQ(s.replayed(), "a20 f7 ");
}

// With a journal, freed clusters can be used only when the transaction is on disk.
TEST(OpStream, WhatACommitMadeUsableSinceTheRequestIsTakenAfterwards) {
  Script s;
  s.free(2, 7);  // clusters 5 to 10
  s.request(1, 20);
  s.add(EventKind::commit_flushing, 9);
  s.free(2, 6);  // in the next transaction
  s.add(EventKind::end_commit, 9);
  s.close(1, 20);
  s.events.back().result = {7, 10, 3, 0};
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "f7 F f6 E a20 ");
  s.events[5].result = {8, 10, 3, 0};
  EXPECT_EQ(s.replayed(), "f7 a20 F f6 E ");
}

// A commit returns clusters before it ends. If a request was made after the commit had begun,
// OrderSearch decides whether the clusters had already been returned.
TEST(OpStream, WhatACommitMayHaveMadeUsableBeforeTheRequestDoesNotMoveIt) {
  Script s;
  s.free(2, 7);
  s.add(EventKind::commit_flushing, 9);
  s.request(1, 20);
  s.add(EventKind::end_commit, 9);
  s.close(1, 20);
  s.events.back().result = {7, 10, 3, 0};
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "f7 F a20 E ");
}

TEST(OpStream, APreallocationGivenBackSinceCounts) {
  Script s;
  s.request(1, 20);
  s.add(EventKind::release_inode_pa, 2, 30).block = 7 * 800 + 5;
  s.events.back().count = 6;
  s.request(3, 40);
  s.close(3, 40);
  s.answer(3, 40);
  s.close(1, 20);
  s.events.back().result = {7, 9, 1, 0};
  s.answer(1, 20);
  EXPECT_EQ(s.replayed(), "a40 a20 ");
}

TEST(OpStream, ThreadsDoNotMixUp) {
  Script s;
  s.request(1, 20);
  s.request(2, 30);
  s.request(3, 40);
  s.add(EventKind::new_inode_pa, 2, 30);
  s.close(3, 40, true);
  s.close(2, 30);
  s.answer(3, 40, 700);
  s.close(1, 20);
  s.answer(2, 30, 600);
  s.answer(1, 20, 500);
  EXPECT_EQ(s.replayed(), "a20 a30 a40 ");
  EXPECT_EQ(s.ops[0].block, 500u);
  EXPECT_EQ(s.ops[1].block, 600u);
  EXPECT_EQ(s.ops[2].block, 700u);
  EXPECT_TRUE(s.ops[2].closing.prealloc);
}

TEST(OpStream, ARefusedRequestHasNoClosingEvent) {
  Script s;
  s.request(1, 20);
  s.answer(1, 20, 0);
  EXPECT_EQ(s.replayed(), "a20 ");
  EXPECT_FALSE(s.ops[0].closing.seen);
  EXPECT_EQ(s.ops[0].len, 0u) << "the length means nothing without a block";
}

TEST(OpStream, TheEndOfTheTraceDropsWhatIsUnanswered) {
  Script s;
  s.free(2, 1);
  s.request(1, 20);
  s.close(1, 20);
  s.free(2, 2);
  EXPECT_EQ(s.replayed(), "f1 f2 ");
  EXPECT_EQ(s.unanswered, 1u);
}

TEST(OpStream, ALostAnswerDropsTheRequestButNotTheNext) {
  Script s;
  s.request(1, 20);
  s.add(EventKind::lost_events, 0).count = 3;
  s.request(1, 30);
  s.free(2, 2);
  s.close(1, 30);
  s.answer(1, 30);
  EXPECT_EQ(s.replayed(), "? a30 f2 ");
  EXPECT_EQ(s.unanswered, 1u);
  EXPECT_EQ(s.ops[0].count, 3u);
}

TEST(OpStream, EventsOfAnAllocationNobodyOpenedAreIgnored) {
  Script s;
  s.add(EventKind::new_inode_pa, 1, 20);
  s.close(1, 20);
  s.close(1, 20, true);
  s.answer(1, 20);
  s.free(1, 3);
  EXPECT_EQ(s.replayed(), "f3 ");
  EXPECT_EQ(s.unanswered, 0u);
}

TEST(OpStream, LoadsByAnAllocatingThreadAreItsOwn) {
  Script s;
  s.request(1, 20);
  s.add(EventKind::buddy_bitmap_load, 1).group = 4;
  s.add(EventKind::buddy_bitmap_load, 2).group = 5;
  s.close(1, 20);
  s.answer(1, 20);
  s.add(EventKind::buddy_bitmap_load, 1).group = 6;
  EXPECT_EQ(s.replayed(), "a20 l5 l6 ");
}

// Memory was short, and a group's buddy was reclaimed. A search that loads the buddy again takes
// its blocks after the load.
TEST(OpStream, ABuddyMayBeLoadedAgain) {
  Script s;
  s.add(EventKind::buddy_bitmap_load, 2).group = 5;
  s.add(EventKind::buddy_bitmap_load, 2).group = 5;
  s.request(1, 20);
  s.add(EventKind::buddy_bitmap_load, 1).group = 6;
  s.add(EventKind::buddy_bitmap_load, 1).group = 5;
  s.add(EventKind::buddy_bitmap_load, 1).group = 4000;  // beyond the last group
  s.close(1, 20);
  s.answer(1, 20);
  s.add(EventKind::buddy_bitmap_load, 2).group = 6;
  EXPECT_EQ(s.replayed(), "l5 r5 c5 a20 r6 ");
}

TEST(OpStream, BatchesOfTheLazyInitThreadComeThrough) {
  Script s;
  Event& batch = s.add(EventKind::prefetch_bitmaps, 2);
  batch.group = 64;
  batch.count = 3;
  EXPECT_EQ(s.replayed(), "p64-3 ");
}

TEST(OpStream, TrimmingIsNoDiscard) {
  Script s;
  s.add(EventKind::discard_preallocations, 1, 20);
  s.add(EventKind::discard_preallocations, 1, 21).needed = 2;
  EXPECT_EQ(s.replayed(), "d20 ");
}

// Between ext4_discard_preallocations and ext4_mb_release_inode_pa, the thread waits for the lock
// of a group, and another thread's search may take that lock first.
TEST(OpStream, ADiscardTakesEffectAtTheNextEventOfItsThread) {
  Script s;
  s.request(2, 20);
  s.add(EventKind::discard_preallocations, 1, 21).count = 1;
  s.close(2, 20);
  s.answer(2, 20);
  s.add(EventKind::release_inode_pa, 1);
  EXPECT_EQ(s.replayed(), "a20 d21 ");
}

TEST(OpStream, ADiscardTakesEffectBeforeAnotherThreadUsesTheInode) {
  Script s;
  s.add(EventKind::discard_preallocations, 1, 21).count = 1;
  s.add(EventKind::allocate_inode, 2, 20);
  s.add(EventKind::free_inode, 2, 21);
  EXPECT_EQ(s.replayed(), "i20 d21 u21 ");
}

TEST(OpStream, ADiscardOfAThreadWithoutFurtherEventsTakesEffectLater) {
  Script s;
  s.add(EventKind::discard_preallocations, 1, 21).count = 1;
  for (std::uint64_t i = 0; i < LateDiscards::kMostEvents; ++i) s.add(EventKind::bitmap_load, 2);
  s.add(EventKind::free_inode, 2, 22);
  s.add(EventKind::discard_preallocations, 3, 23).count = 1;
  s.add(EventKind::discard_preallocations, 4, 24);  // has nothing to release
  EXPECT_EQ(s.replayed(), "d21 u22 d24 d23 ");
}

TEST(OpStream, InodesAndCommitsComeThroughInOrder) {
  Script s;
  s.add(EventKind::allocate_inode, 1, 20);
  s.add(EventKind::commit_flushing, 9);
  s.add(EventKind::free_inode, 1, 20);
  s.add(EventKind::end_commit, 9);
  s.add(EventKind::bitmap_load, 1);
  s.add(EventKind::free_blocks, 1);
  s.add(EventKind::release_inode_pa, 1);
  EXPECT_EQ(s.replayed(), "i20 F u20 E ");
}

// While a thread allocates or frees an inode, it holds group locks. Its event comes at the end of
// this work.
TEST(OpStream, InodesOfOtherThreadsAreWorkAtTheSameTime) {
  for (const EventKind kind : {EventKind::allocate_inode, EventKind::free_inode}) {
    for (const bool closed : {false, true}) {
      for (const auto& [pid, race] : {std::pair{2u, Race::inodes}, std::pair{1u, Race::none}}) {
        Script s;
        s.add(kind, 2, 21);
        s.request(1, 20);
        if (!closed) s.add(kind, pid, 22);
        s.close(1, 20);
        if (closed) s.add(kind, pid, 22);
        s.answer(1, 20);
        s.add(kind, 2, 23);
        (void)s.replayed();
        const auto asked = std::ranges::find(s.ops, Op::Kind::allocate, &Op::kind);
        ASSERT_NE(asked, s.ops.end());
        EXPECT_EQ(asked->race, race) << "closed before: " << closed;
      }
    }
  }
}

// An operation may race with another thread's allocation and also with another thread's inode work.
// It then counts as a race of the first kind.
TEST(OpStream, AnInodeIsTheLeastOfRaces) {
  Script s;
  s.request(1, 20);
  s.add(EventKind::allocate_inode, 2, 22);
  s.free(3, 7);
  s.close(1, 20);
  s.add(EventKind::allocate_inode, 2, 24);
  s.answer(1, 20);
  (void)s.replayed();
  EXPECT_EQ(s.ops.at(0).race, Race::allocator);
}

TEST(OpStream, CarriesTheRecordedInputs) {
  Script s;
  Event& e = s.add(EventKind::request_blocks, 1, 20);
  e.has_inputs = true;
  e.i_size = 12345;
  e.i_writecount = 2;
  s.answer(1, 20);
  (void)s.replayed();
  EXPECT_TRUE(s.ops.at(0).has_inputs);
  EXPECT_EQ(s.ops[0].i_size, 12345u);
  EXPECT_EQ(s.ops[0].i_writecount, 2);
}

class Broken : public trace::EventSource {
 public:
  Result<std::span<const Event>> next() override { return error("line 7 is broken"); }
};

TEST(OpStream, HandsOnTheSourcesError) {
  Broken source;
  const Geometry geometry;
  OpStream stream(source, geometry);
  const auto op = stream.next();
  ASSERT_FALSE(op.ok());
  EXPECT_EQ(op.error().message, "line 7 is broken");
}

}  // namespace
}  // namespace e4r::replay
