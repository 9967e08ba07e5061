// SPDX-License-Identifier: GPL-2.0-or-later
// Tests traces whose numbers are valid for the image, but which contradict its contents. Every
// contradiction must be counted, and none may change the state.
#include "replay/intake.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/drivers.h"
#include "support/model.h"

namespace e4r::test {
namespace {

using replay::Contradictions;
using trace::Event;
using trace::EventKind;
using trace::RecordedExtent;

constexpr std::uint32_t kHuge = 0xffffffff;

class LyingTrace : public testing::Test {
 protected:
  Event& add(EventKind kind, std::uint32_t pid = 1) {
    Event& e = events.emplace_back();
    e.kind = kind;
    e.pid = pid;
    e.ino = 12;
    return e;
  }
  void request(std::uint32_t len, std::uint64_t logical = 0, std::uint32_t flags = mb::hint_data) {
    Event& e = add(EventKind::request_blocks);
    e.count = len;
    e.logical = logical;
    e.flags = flags;
  }
  void close(const RecordedExtent& result, std::uint32_t len,
             EventKind kind = EventKind::mballoc_alloc) {
    Event& e = add(kind);
    e.orig = {0, 0, len, 0};
    e.goal_ex = {0, 0, result.len, result.logical};
    e.result = result;
    e.flags = mb::hint_data | mb::stream_alloc;
  }
  void answer(std::uint64_t block, std::uint64_t len) {
    Event& e = add(EventKind::allocate_blocks);
    e.block = block;
    e.count = len;
  }
  // Adds an allocation of `len` clusters with the given result.
  void allocate(const RecordedExtent& result, std::uint32_t len, std::uint64_t logical = 0) {
    request(len, logical);
    close(result, len);
    answer(fs.geometry().block_of(result.group, static_cast<std::uint32_t>(result.start)),
           std::min(len, result.len));
  }
  void free(std::uint32_t group, std::int32_t start, std::uint32_t len) {
    add(EventKind::mballoc_free).result = {group, start, len, 0};
  }
  void commit(EventKind kind, std::uint64_t number) { add(kind, 2).block = number; }

  // Replays the trace under every policy and with every driver. Returns the contradictions that
  // were found when following it.
  Contradictions replay_it() {
    Contradictions out;
    for (const allocator::Policy* policy : allocator::policies()) {
      replay::InputTable inputs;
      for (const Driver driver : {Driver::follow, Driver::free_run, Driver::what_if}) {
        const auto [engine, status] = replay_as(
            driver, fs.source(), *policy, allocator::defaults_for(fs.geometry()), events, inputs);
        EXPECT_TRUE(status.ok()) << policy->name << ": " << status.error().message;
        EXPECT_EQ(engine->state().bad_frees(), 0u);
        if (driver == Driver::follow) out = engine->contradictions();
      }
    }
    return out;
  }

  // Follows the trace on `source` and returns the engine in its final state.
  std::unique_ptr<replay::Engine> follow(const state::Source& source) {
    replay::InputTable inputs;
    auto [engine, status] = replay_as(Driver::follow, source, *allocator::find_policy("legacy"),
                                      allocator::defaults_for(source.geometry), events, inputs);
    EXPECT_TRUE(status.ok());
    return std::move(engine);
  }

  ModelFs fs{model_shape("two_groups")};
  std::vector<Event> events;
};

TEST_F(LyingTrace, AnHonestOneContradictsNothing) {
  allocate({0, 100, 8, 0}, 8);
  free(0, 100, 8);
  EXPECT_FALSE(replay_it().any());
}

TEST_F(LyingTrace, ResultsOutsideTheirGroup) {
  for (const RecordedExtent& result :
       {RecordedExtent{2, 0, 8, 0}, RecordedExtent{kHuge, 0, 8, 0}, RecordedExtent{0, 2047, 2, 0},
        RecordedExtent{1, 540, 9, 0}, RecordedExtent{0, -1, 8, 0}, RecordedExtent{0, 0, kHuge, 0},
        RecordedExtent{0, 0x7fffffff, kHuge, 0}, RecordedExtent{0, 1, kHuge, kHuge}})
    allocate(result, 8);
  const Contradictions found = replay_it();
  EXPECT_EQ(found.outside, 8u);
  EXPECT_EQ(found.first_event, 1u);
}

TEST_F(LyingTrace, RequestsOfNothingAndOfTooMuch) {
  request(0);
  close({0, 100, 8, 0}, 0);
  answer(100, 8);
  request(8);
  close({0, 100, 8, 0}, kHuge);
  answer(100, 8);
  request(8, 1ull << 40);
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  request(8, kHuge);
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  EXPECT_EQ(replay_it().outside, 4u);
}

TEST_F(LyingTrace, NeighboursBeyondTheDevice) {
  request(8, 100);
  events.back().right_block = ~0ull - 4;
  events.back().right_logical = 108;
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  request(8, 100);
  events.back().left_block = ~0ull;
  events.back().left_logical = 99;
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  EXPECT_EQ(replay_it().outside, 2u);
}

TEST_F(LyingTrace, FreesOutsideTheirGroup) {
  free(0, 2040, 9);
  free(0, 0, kHuge);
  free(1, 0, kHuge);
  free(0, -3, 5);
  free(7, 0, 1);
  free(0, 10, 0);
  EXPECT_EQ(replay_it().outside, 6u);
}

TEST_F(LyingTrace, FreesOfWhatIsNotInUse) {
  fs.use(0, 100, 10);
  free(0, 95, 10);  // half of the range is free
  free(0, 100, 10);
  free(0, 100, 10);  // freed already
  EXPECT_EQ(replay_it().not_in_use, 2u);
}

// A free of clusters in a file's preallocation is a contradiction, because they are not data of the
// file.
TEST_F(LyingTrace, FreesOfAPreallocation) {
  allocate({0, 512, 64, 0}, 8);
  free(0, 512, 8);
  free(0, 520, 8);
  EXPECT_EQ(replay_it().not_in_use, 1u);
}

TEST_F(LyingTrace, FreesOfMetadata) {
  state::Source source = fs.source();
  source.metadata.push_back({0, 4});
  free(0, 3, 1);
  EXPECT_EQ(follow(source)->contradictions().not_in_use, 1u);
}

TEST_F(LyingTrace, HandsOutWhatIsInUse) {
  fs.use(0, 100, 10);
  allocate({0, 105, 8, 0}, 8);
  allocate({0, 105, 8, 8}, 8, 8);
  EXPECT_EQ(replay_it().in_use, 5u + 8u);
}

// Some clusters of a recorded result were already in use. They must stay in use when the
// preallocation made from the result is released.
TEST_F(LyingTrace, APreallocationGivesBackOnlyWhatWasFree) {
  fs.use(0, 520, 8);
  allocate({0, 512, 64, 0}, 8);
  add(EventKind::discard_preallocations);
  EXPECT_EQ(replay_it().in_use, 8u);
  const auto engine = follow(fs.source());
  const auto words = engine->state().words(engine->state().group(0));
  EXPECT_TRUE(state::bitmap::all_set(words, 512, 16));
  EXPECT_TRUE(state::bitmap::all_clear(words, 528, 48));
}

// In this trace, one preallocation serves the same file range twice.
TEST_F(LyingTrace, HandsOutAPreallocationTwice) {
  allocate({0, 512, 64, 0}, 8);
  for (int i = 0; i < 3; ++i) {
    request(8);
    close({0, 512, 8, 0}, 8, EventKind::mballoc_prealloc);
    answer(512, 8);
  }
  EXPECT_EQ(replay_it().in_use, 3u * 8);
}

// The recorded result does not cover the request. The preallocation is made at the request's
// position in the file.
TEST_F(LyingTrace, ResultsForAnotherPartOfTheFile) {
  allocate({0, 512, 64, kHuge}, 8, 40);
  allocate({0, 700, 64, 1000}, 8, 200);
  EXPECT_FALSE(replay_it().any());
}

TEST_F(LyingTrace, AnswersThatAreNoPartOfTheResult) {
  const auto answered = [&](std::uint64_t block, std::uint64_t len) {
    request(8);
    close({0, 100, 8, 0}, 8);
    answer(block, len);
    free(0, 100, 8);
  };
  answered(99, 8);
  answered(108, 1);
  answered(100, 9);
  answered(100, 1ull << 40);
  answered(~0ull, 8);
  answered(100, 0);
  EXPECT_EQ(replay_it().answers, 6u);
}

TEST_F(LyingTrace, Inode0) {
  request(8);
  events.back().ino = 0;
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  for (const EventKind kind :
       {EventKind::allocate_inode, EventKind::free_inode, EventKind::discard_preallocations})
    add(kind).ino = 0;
  EXPECT_EQ(replay_it().inodes, 4u);
}

TEST_F(LyingTrace, InodesBeyondTheLastGroup) {
  add(EventKind::allocate_inode).ino = (1ull << 32) * fs.geometry().inodes_per_group + 1;
  fs.group(0).block_uninit = true;
  EXPECT_FALSE(replay_it().any());
}

TEST_F(LyingTrace, InodesThatNoFileSystemCanHave) {
  request(8);
  events.back().ino = 1ull << 32;
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  Event& call = add(EventKind::insert_range);
  call.ino = 1ull << 32;
  call.count = 1 << 20;
  add(EventKind::discard_preallocations).ino = 1ull << 32;
  EXPECT_EQ(replay_it().outside, 2u);
}

TEST_F(LyingTrace, RangesBeyondTheLastBlockOfAFile) {
  for (const auto at : {0ull, 1ull << 63, ~0ull << 20}) {
    Event& call = add(EventKind::collapse_range);
    call.ino = 20;
    call.logical = at;
    call.count = ~0ull << 20;
    add(EventKind::discard_preallocations).ino = 20;
  }
  EXPECT_EQ(replay_it().outside, 3u);
}

TEST_F(LyingTrace, TransactionsThatEndBeforeTheyBegin) {
  commit(EventKind::end_commit, 4);  // the trace may begin during a commit
  commit(EventKind::end_commit, 5);
  commit(EventKind::commit_flushing, 6);
  commit(EventKind::end_commit, 6);
  commit(EventKind::end_commit, 6);
  commit(EventKind::commit_flushing, 7);
  commit(EventKind::end_commit, 9);
  commit(EventKind::commit_flushing, 10);
  commit(EventKind::commit_flushing, 11);
  const Contradictions found = replay_it();
  EXPECT_EQ(found.transactions, 4u);
  EXPECT_EQ(found.first_event, 2u);
}

// If a trace lacks the end of a commit, the clusters of later commits must still become available.
TEST_F(LyingTrace, ACommitWithoutAnEndDoesNotHoldUpTheNext) {
  fs.use(0, 100, 20);
  free(0, 100, 10);
  commit(EventKind::commit_flushing, 6);
  free(0, 110, 10);
  commit(EventKind::commit_flushing, 7);
  commit(EventKind::end_commit, 7);
  const auto engine = follow(fs.source());
  EXPECT_TRUE(engine->state().freed().empty());
  EXPECT_FALSE(state::bitmap::test(engine->state().words(engine->state().group(0)), 115));
}

TEST_F(LyingTrace, ClosingEventsForNothing) {
  close({0, 100, 8, 0}, 8);
  answer(100, 8);
  allocate({0, 100, 8, 0}, 8);
  answer(100, 8);
  request(8, 8);
  close({0, 200, 8, 8}, 8);
  close({kHuge, -1, kHuge, 8}, 8);
  answer(200, 8);
  const Contradictions found = replay_it();
  EXPECT_EQ(found.strays, 4u);
  EXPECT_EQ(found.outside, 0u);
}

TEST_F(LyingTrace, LoadsOfGroupsThatAreNotThere) {
  add(EventKind::buddy_bitmap_load).group = 2;
  Event& e = add(EventKind::prefetch_bitmaps);
  e.group = 0;
  e.count = 1ull << 40;
  EXPECT_EQ(replay_it().outside, 2u);
}

// An unanswered request may delay the operations of one window, but not the rest of the trace.
TEST_F(LyingTrace, AnUnansweredRequestEndsItsWindow) {
  request(8);
  for (std::size_t i = 0; i < 3 * replay::OpStream::kWindow; ++i) {
    Event& e = add(EventKind::buddy_bitmap_load, 2);
    e.group = static_cast<std::uint32_t>(i % 2);
  }
  MemorySource stream(events);
  replay::OpStream ops(stream, fs.geometry());
  const auto first = ops.next();
  ASSERT_TRUE(first.ok());
  ASSERT_NE(*first, nullptr);
  EXPECT_EQ((*first)->ordinal, 2u);
  EXPECT_EQ(ops.unanswered(), 1u);
}

TEST(Contradictions, TellsEachAndTheFirst) {
  Contradictions c;
  EXPECT_FALSE(c.any());
  c.note(&Contradictions::inodes, 70, 2);
  c.note(&Contradictions::outside, 5);
  c.note(&Contradictions::strays, 3, 0);
  EXPECT_EQ(describe(c),
            "ranges that the image or their group does not have: 1, operations on inode 0: 2 (the "
            "first at event 5)");
}

}  // namespace
}  // namespace e4r::test
