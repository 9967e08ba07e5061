// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/inspection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/packed.h"
#include "trace/support.h"

namespace e4r::trace {
namespace {

Event event(EventKind kind, std::uint32_t pid, std::uint32_t dev = 1) {
  Event e;
  e.kind = kind;
  e.pid = pid;
  e.dev = dev;
  return e;
}

using enum EventKind;

TEST(Exactness, CountsInterleavedRequests) {
  ExactnessCheck check;
  const std::vector<Event> events = {
      event(request_blocks, 1),     event(mballoc_alloc, 1),     event(allocate_blocks, 1),
      event(request_blocks, 1),     event(request_blocks, 2),    event(mballoc_alloc, 2),
      event(allocate_blocks, 2),    event(mballoc_prealloc, 1),  event(allocate_blocks, 1),
      event(request_blocks, 3, 1),  event(request_blocks, 4, 2), event(mballoc_alloc, 4, 2),
      event(allocate_blocks, 4, 2), event(mballoc_alloc, 3, 1),  event(allocate_blocks, 3, 1)};
  check.add(events);
  EXPECT_EQ(check.interleaved(),
            1u);  // only the second request of pid 1; other devices do not count
  EXPECT_EQ(check.unclosed(), 0u);
}

TEST(Exactness, ATraceOfTheShrinkerLacksWhatTheShrinkerNeeds) {
  TraceSummary summary;
  const auto count = [&](EventKind kind, std::uint64_t events) {
    summary.by_kind[static_cast<std::size_t>(kind)] = events;
  };
  for (const EventKind kind : {es_insert_extent, es_cache_extent, es_remove_extent, es_lookup_enter,
                               es_lookup_exit, es_shrink_scan_enter, es_shrink})
    count(kind, 5);
  const ExactnessCheck check;
  EXPECT_TRUE(check.obstacles(summary).empty());
  EXPECT_EQ(check.remarks(summary).size(), 1u);
  for (const EventKind kind : {es_cache_extent, es_lookup_enter, es_shrink_scan_enter, es_shrink}) {
    count(kind, 0);
    EXPECT_EQ(check.obstacles(summary).size(), 1u) << event_name(kind);
    count(kind, 5);
  }
  // A trace that has requests is a trace of the allocator.
  count(request_blocks, 1);
  EXPECT_GT(check.obstacles(summary).size(), 3u);
}

TEST(Exactness, ARefusedRequestDisturbsNobody) {
  ExactnessCheck check;
  const std::vector<Event> events = {event(request_blocks, 1), event(request_blocks, 2),
                                     event(mballoc_alloc, 2),  event(allocate_blocks, 2),
                                     event(request_blocks, 3), event(allocate_blocks, 3)};
  check.add(events);
  EXPECT_EQ(check.interleaved(), 0u);
  EXPECT_EQ(check.unclosed(), 1u);
}

std::vector<std::string> obstacles_of(const std::string& file) {
  const auto packed = load_packed(std::string(TRACE_DATA "/") + file);
  if (!packed.ok()) return {packed.error().message};
  ExactnessCheck check;
  check.add(test::read_all(*packed->cursor()).events);
  return check.obstacles(packed->summary());
}

bool mentions(const std::vector<std::string>& lines, std::string_view word) {
  return std::ranges::any_of(
      lines, [&](const std::string& l) { return l.find(word) != std::string::npos; });
}

TEST(Exactness, NamesWhatATraceLacks) {
  EXPECT_TRUE(mentions(obstacles_of("ftrace-pipe-lost.txt"), "lost"));
  EXPECT_TRUE(mentions(obstacles_of("perf.txt"), "ext4_mb_buddy_bitmap_load"));
  EXPECT_FALSE(mentions(obstacles_of("ftrace-6.1.txt"), "ext4_mballoc_free"));
  ExactnessCheck none;
  TraceSummary empty;
  EXPECT_TRUE(mentions(none.obstacles(empty), "nothing to replay"));
}

}  // namespace
}  // namespace e4r::trace
