// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "record/bpf_readers.h"
#include "record/merger.h"

namespace e4r::record {
namespace {

using trace::Event;
using trace::EventKind;

constexpr std::uint64_t kSecond = 1'000'000'000;

Event request(std::uint64_t ns, std::uint16_t cpu, std::uint32_t pid, std::uint64_t ino,
              std::uint64_t logical = 0) {
  Event e;
  e.kind = EventKind::request_blocks;
  e.time_ns = ns;
  e.cpu = cpu;
  e.pid = pid;
  e.ino = ino;
  e.logical = logical;
  e.count = 8;
  return e;
}

Event closing(EventKind kind, const Event& of, std::uint64_t ns, std::uint16_t cpu) {
  Event e;
  e.kind = kind;
  e.time_ns = ns;
  e.cpu = cpu;
  e.pid = of.pid;
  e.ino = of.ino;
  e.orig.logical = static_cast<std::uint32_t>(of.logical);
  e.orig.len = static_cast<std::uint32_t>(of.count);
  return e;
}

// Returns the input that the BPF program records for that event, a little later than the event.
e4r_input seen_at(const Event& event) {
  const bool is_request = event.kind == EventKind::request_blocks;
  e4r_input in = {};
  in.kind = is_request ? E4R_INPUT_REQUEST : E4R_INPUT_CLOSING;
  in.time_ns = event.time_ns + 700;
  in.cpu = event.cpu;
  in.pid = event.pid;
  in.ino = event.ino;
  in.logical = static_cast<std::uint32_t>(is_request ? event.logical : event.orig.logical);
  in.len = static_cast<std::uint32_t>(is_request ? event.count : event.orig.len);
  return in;
}

e4r_input sized(const Event& event, std::uint64_t size, std::int32_t writers) {
  e4r_input in = seen_at(event);
  in.i_size = size;
  in.i_writecount = writers;
  return in;
}

TEST(InputJoin, GivesRequestsTheirInputs) {
  std::vector<Event> events = {request(100, 0, 1, 12), request(200, 1, 2, 13),
                               request(300, 0, 1, 12, 8)};
  InputJoin join;
  join.add(sized(events[0], 4096, 1));
  join.add(sized(events[2], 65536, 0));
  join.add(sized(events[1], 7, -1));
  join.complete(events);
  EXPECT_TRUE(events[0].has_inputs && events[1].has_inputs && events[2].has_inputs);
  EXPECT_EQ(events[0].i_size, 4096u);
  EXPECT_EQ(events[0].i_writecount, 1);
  EXPECT_EQ(events[1].i_size, 7u);
  EXPECT_EQ(events[1].i_writecount, -1);
  EXPECT_EQ(events[2].i_size, 65536u);
  EXPECT_EQ(join.completed(), 3u);
  EXPECT_EQ(join.missed(), 0u);
}

// Events and inputs may both be lost. The remaining events and inputs must still be matched.
TEST(InputJoin, SurvivesLossesOfEitherSide) {
  std::vector<Event> all;
  for (std::uint64_t i = 0; i < 200; ++i) all.push_back(request(1000 * i, 0, 1, 12 + i % 3, i));
  std::vector<Event> events;
  InputJoin join;
  std::uint64_t both = 0;
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    const bool has_input = i % 5 != 2, has_event = i % 7 != 3;
    if (has_input) join.add(sized(all[i], i, 1));
    if (has_event) events.push_back(all[i]);
    both += has_input && has_event;
  }
  join.complete(events);
  for (const Event& event : events) {
    EXPECT_EQ(event.has_inputs, event.logical % 5 != 2) << event.logical;
    EXPECT_EQ(event.i_size, event.has_inputs ? event.logical : 0);
  }
  EXPECT_EQ(join.completed(), both);
  EXPECT_EQ(join.missed(), events.size() - both);
}

// An identical request at another time is a different request.
TEST(InputJoin, DoesNotTakeAnothersInput) {
  const Event early = request(1 * kSecond, 0, 1, 12), late = request(5 * kSecond, 0, 1, 12);
  InputJoin join;
  join.add(sized(late, 4096, 1));
  std::vector<Event> events = {early, late};
  join.complete(events);
  EXPECT_FALSE(events[0].has_inputs);
  EXPECT_TRUE(events[1].has_inputs);
  join.add(sized(early, 1, 1));
  events = {late};
  join.complete(events);
  EXPECT_FALSE(events[0].has_inputs) << "four seconds old";
  for (Event other : {request(9 * kSecond, 1, 1, 12), request(9 * kSecond, 0, 2, 12),
                      request(9 * kSecond, 0, 1, 13), request(9 * kSecond, 0, 1, 12, 1)}) {
    join.add(sized(request(9 * kSecond, 0, 1, 12), 1, 1));
    join.complete({&other, 1});
    EXPECT_FALSE(other.has_inputs) << other.cpu << other.pid << other.ino << other.logical;
  }
}

TEST(InputJoin, KeepsTheGoalBeforeTrimming) {
  const Event asked = request(100, 0, 1, 12);
  std::vector<Event> events = {asked, closing(EventKind::mballoc_alloc, asked, 200, 0),
                               closing(EventKind::mballoc_prealloc, asked, 300, 0)};
  InputJoin join;
  for (std::size_t i = 1; i < events.size(); ++i) {
    e4r_input in = seen_at(events[i]);
    in.orig_goal_len = 512;
    join.add(in);
  }
  join.complete(events);
  EXPECT_EQ(events[1].orig_goal_len, 512u);
  EXPECT_EQ(events[2].orig_goal_len, 0u) << "a preallocation's event has none";
}

// A thread makes a request on one CPU, but uses the locality group of the CPU on which it ran
// before.
TEST(InputJoin, FindsTheLocalityGroupsCpu) {
  InputJoin join;
  const auto ask = [&](std::uint64_t ns, std::uint16_t cpu, std::uint16_t closed_on,
                       std::uint64_t group) {
    const Event asked = request(ns, cpu, 1, 12);
    std::vector<Event> events = {asked,
                                 closing(EventKind::mballoc_prealloc, asked, ns + 50, closed_on)};
    for (const Event& event : events) {
      e4r_input in = seen_at(event);
      in.group_offset = event.kind == EventKind::request_blocks ? 0 : group;
      join.add(in);
    }
    join.complete(events);
    return events[0].cpu;
  };
  EXPECT_EQ(ask(1000, 0, 0, 0x1000), 0);
  EXPECT_EQ(ask(2000, 0, 0, 0x1000), 0);
  EXPECT_EQ(ask(3000, 1, 1, 0x2000), 1);
  EXPECT_EQ(ask(4000, 1, 0, 0x2000), 1) << "moved after it had chosen";
  EXPECT_EQ(ask(5000, 0, 1, 0x2000), 1) << "moved before it chose";
  EXPECT_EQ(ask(6000, 1, 1, 0x1000), 0) << "chose, and moved";
  EXPECT_EQ(ask(7000, 1, 1, 0), 1) << "the file's own";
}

// On a busy machine, a thread often moves to another CPU between its choice of the locality group
// and the end of its search. Here all searches end on CPU 0.
TEST(InputJoin, BelievesTheCpuOfTheRequest) {
  InputJoin join;
  for (std::uint64_t ns = 1000; ns < 9000; ns += 1000) {
    const std::uint16_t cpu = ns / 1000 % 2;
    const Event asked = request(ns, cpu, 1, 12);
    std::vector<Event> events = {asked, closing(EventKind::mballoc_prealloc, asked, ns + 50, 0)};
    for (const Event& event : events) {
      e4r_input in = seen_at(event);
      in.group_offset = event.kind == EventKind::request_blocks ? 0 : 0x1000u + cpu;
      join.add(in);
    }
    join.complete(events);
    EXPECT_EQ(events[0].cpu, cpu) << ns;
  }
}

TEST(InputJoin, DropsWhatIsNoInput) {
  InputJoin join;
  std::vector<Event> events = {request(100, 0, 1, 12)};
  e4r_input in = sized(events[0], 1, 1);
  for (const std::uint32_t kind : {0u, 3u, UINT32_MAX}) {
    in.kind = kind;
    join.add(in);
  }
  join.complete(events);
  EXPECT_FALSE(events[0].has_inputs);
  join.complete({});
  EXPECT_EQ(join.missed(), 1u);
}

TEST(InputReader, SaysWhatIsMissing) {
  const auto none = InputReader::create(0, TraceClock::mono_raw);
  ASSERT_FALSE(none.ok());
  EXPECT_FALSE(none.error().message.empty());
}

}  // namespace
}  // namespace e4r::record
