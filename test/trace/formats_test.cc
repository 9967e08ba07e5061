// SPDX-License-Identifier: GPL-2.0-or-later
// Tests excerpts of real recordings of Linux 6.1 and 6.18. They come from each tool with several of
// its options, and have task names that contain spaces, dashes, brackets and colons.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "trace/support.h"

namespace e4r::trace {
namespace {

using test::ReadTrace;

ReadTrace read_data(const std::string& name) {
  return test::read_opened(open_trace(std::string(TRACE_DATA "/") + name));
}

struct Sample {
  const char* file;
  Format format;
  Generation generation;
  std::size_t events;  // known events and markers
  std::uint64_t lost;
};

class Samples : public testing::TestWithParam<Sample> {};

TEST_P(Samples, AreReadWhole) {
  const ReadTrace read = read_data(GetParam().file);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.summary.format, GetParam().format);
  EXPECT_EQ(read.summary.generation, GetParam().generation);
  EXPECT_EQ(read.events.size(), GetParam().events);
  EXPECT_EQ(read.summary.lost_events, GetParam().lost);
  EXPECT_EQ(read.summary.skipped_lines, 0u);
  EXPECT_EQ(read.summary.unknown_flags, 0u);
  EXPECT_EQ(read.summary.unknown_criteria, 0u);
  EXPECT_EQ(read.summary.unknown_fields, 0u);
}

using enum Format;
INSTANTIATE_TEST_SUITE_P(
    All, Samples,
    testing::Values(Sample{"ftrace-6.1.txt", ftrace, Generation::v6_1, 73, 0},
                    Sample{"ftrace-6.18.txt", ftrace, Generation::v6_5, 76, 0},
                    Sample{"ftrace.txt", ftrace, Generation::v6_5, 65, 0},
                    Sample{"ftrace-counter.txt", ftrace, Generation::v6_5, 52, 0},
                    Sample{"ftrace-latency.txt", ftrace, Generation::v6_5, 58, 0},
                    Sample{"ftrace-noirq.txt", ftrace, Generation::v6_5, 61, 0},
                    Sample{"ftrace-overwritten.txt", ftrace, Generation::v6_5, 38, 0},
                    Sample{"ftrace-pipe-lost.txt", ftrace, Generation::v6_5, 45, 329},
                    Sample{"ftrace-tgid.txt", ftrace, Generation::v6_5, 64, 0},
                    Sample{"perf.txt", perf, Generation::v6_5, 59, 0},
                    Sample{"perf-ns.txt", perf, Generation::v6_5, 59, 0},
                    Sample{"perf-nocpu.txt", perf, Generation::v6_5, 59, 0},
                    Sample{"perf-lost.txt", perf, Generation::unknown, 9, 1},
                    Sample{"trace-cmd.txt", trace_cmd, Generation::v6_5, 65, 0},
                    Sample{"trace-cmd-latency.txt", trace_cmd, Generation::v6_5, 65, 0},
                    Sample{"trace-cmd-ns.txt", trace_cmd, Generation::v6_5, 65, 0},
                    Sample{"trace-cmd-lost.txt", trace_cmd, Generation::v6_5, 44, 244}),
    [](const testing::TestParamInfo<Sample>& sample) {
      std::string name = sample.param.file;
      std::ranges::replace_if(
          name, [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

// Checks that two files of the same recording are equal after `blur` has removed their known
// differences.
void expect_same(const std::string& one, const std::string& other, void (*blur)(Event&)) {
  auto a = read_data(one).events, b = read_data(other).events;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    blur(a[i]);
    blur(b[i]);
    EXPECT_EQ(a[i], b[i]) << one << " and " << other << ", event " << i;
  }
}
// Removes a known difference: trace-cmd rounds times, and perf truncates them.
void round_time(Event& e) {
  e.time_ns = (e.time_ns + 500) / 1000;
}
void cut_time(Event& e) {
  e.time_ns /= 1000;
}
void without_cpu(Event& e) {
  e.cpu = 0;
}

TEST(Samples, OptionsOfAToolDoNotChangeTheEvents) {
  expect_same("trace-cmd.txt", "trace-cmd-latency.txt", [](Event&) {});
  expect_same("trace-cmd.txt", "trace-cmd-ns.txt", round_time);
  expect_same("perf.txt", "perf-ns.txt", cut_time);
  expect_same("perf.txt", "perf-nocpu.txt", without_cpu);
}

TEST(Samples, TaskNamesDoNotHideThePid) {
  std::set<std::uint32_t> pids;
  for (const Event& e : read_data("ftrace.txt").events) pids.insert(e.pid);
  // Task names: "a b-c [003] 1: -7782", "p-1 [000] ...-7790", "ends--7785", "-starts-7786",
  // "has:colon-7784".
  for (const std::uint32_t pid : {7782, 7783, 7784, 7785, 7786, 7787, 7788, 7789, 7790, 7791, 7792})
    EXPECT_TRUE(pids.contains(pid)) << pid;
}

TEST(Samples, NewerKernelsKeepTheirCriterionNames) {
  std::set<mb::Criterion> seen;
  for (const Event& e : read_data("ftrace-6.18.txt").events)
    if (e.kind == EventKind::mballoc_alloc) seen.insert(e.criterion);
  EXPECT_EQ(seen, (std::set{mb::Criterion::cr0, mb::Criterion::cr1, mb::Criterion::best_avail,
                            mb::Criterion::cr2}));
}

TEST(Samples, LossesAreMarkedWhereTheyHappened) {
  const auto ftrace = read_data("ftrace-pipe-lost.txt").events;
  EXPECT_EQ(ftrace.front().kind, EventKind::lost_events);
  EXPECT_EQ(ftrace.front().count, 173u);
  const auto perf = read_data("perf-lost.txt").events;
  const auto marker = std::ranges::find(perf, EventKind::lost_events, &Event::kind);
  ASSERT_NE(marker, perf.end());
  EXPECT_EQ(marker->time_ns, 1421495519000u);
  const auto overwritten = read_data("ftrace-overwritten.txt").summary;
  EXPECT_EQ(overwritten.overwritten, overwritten.entries_written - overwritten.entries_in_buffer);
  EXPECT_GT(overwritten.overwritten, 0u);
  EXPECT_TRUE(overwritten.lost_any());
}

TEST(Samples, UnknownEventsAreCountedByName) {
  const auto s = read_data("trace-cmd.txt").summary;
  ASSERT_EQ(s.unknown_events.size(), 1u);
  EXPECT_EQ(s.unknown_events[0].name, "ext4_sync_file_enter");
}

}  // namespace
}  // namespace e4r::trace
