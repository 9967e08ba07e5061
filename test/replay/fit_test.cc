// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/intake.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/model.h"
#include "trace/summary.h"

namespace e4r::test {
namespace {

using trace::Event;
using trace::EventKind;

class FitTest : public testing::Test {
 protected:
  // Returns the check's message about these events, or "" if they fit the file system.
  [[nodiscard]] std::string of(const std::vector<Event>& events) const {
    MemorySource source(events);
    const Status status = replay::check_fit(fs.geometry(), source);
    return status.ok() ? "" : status.error().message;
  }
  // Returns the closing event of an allocation, and its answer.
  [[nodiscard]] static std::vector<Event> answered(std::uint32_t group, std::int32_t start,
                                                   std::uint64_t block) {
    Event closing;
    closing.kind = EventKind::mballoc_alloc;
    closing.result = {group, start, 8, 0};
    Event answer;
    answer.kind = EventKind::allocate_blocks;
    answer.block = block;
    answer.count = 8;
    return {closing, answer};
  }

  ModelFs fs{model_shape("two_groups")};  // groups of 2,048 and 548 clusters
};

TEST_F(FitTest, GroupsClustersBlocksAndInodes) {
  Event e;
  e.kind = EventKind::mballoc_free;
  e.result = {1, 547, 1, 0};
  EXPECT_EQ(of({e}), "");
  e.result.start = 548;
  EXPECT_EQ(of({e}), "event 1 is of cluster 548 of group 1, which has 548 in the image");
  e.result = {2, 0, 1, 0};
  EXPECT_EQ(of({Event{}, e}), "event 2 is of group 2, and the image has 2");
  e.kind = EventKind::buddy_bitmap_load;
  e.group = 2;
  EXPECT_EQ(of({e}), "event 1 is of group 2, and the image has 2");
  e.kind = EventKind::free_blocks;
  e.block = 2596;
  EXPECT_EQ(of({e}), "event 1 is of block 2,596, and the image has 2,596");
  e.kind = EventKind::allocate_inode;
  e.ino = 128;
  EXPECT_EQ(of({e}), "");
  e.ino = 129;
  EXPECT_EQ(of({e}), "event 1 is of inode 129, and the image has 128");
}

// One impossible value does not mean that the trace belongs to another file system. The replay
// ignores such an event (Intake).
TEST_F(FitTest, ContradictionsInContentAreNotJudgedHere) {
  Event e;
  e.kind = EventKind::mballoc_free;
  e.result = {0, -5, 1, 0};
  EXPECT_EQ(of({e}), "");
  e.result = {0, 2000, 0xffffffff, 0};
  EXPECT_EQ(of({e}), "");
}

TEST_F(FitTest, AnswersShowTheSizesOfBlockClusterAndGroup) {
  std::vector<Event> trace;
  for (int i = 0; i < 20; ++i)
    for (const Event& e : answered(1, 100 + i, 2048 + 100 + static_cast<std::uint64_t>(i)))
      trace.push_back(e);
  EXPECT_EQ(of(trace), "");
  trace[1].block = 1;  // one contradiction
  EXPECT_EQ(of(trace), "");
  trace[1].block = trace[3].block;
  for (std::size_t i = 1; i < trace.size(); i += 2) trace[i].block -= 1024;
  EXPECT_EQ(
      of(trace),
      "20 of 20 results lie at blocks that do not fit the image's block, cluster and group sizes");
}

// The replay must choose a device that fits the image. If several devices fit, it must choose the
// busiest.
TEST_F(FitTest, PrefersTheDeviceThatFits) {
  const auto on = [](std::uint32_t dev, std::uint64_t ino) {
    Event e;
    e.kind = EventKind::request_blocks;
    e.dev = dev;
    e.ino = ino;
    return e;
  };
  const auto preferred = [&](const std::vector<Event>& events) {
    replay::DeviceFit fit(fs.geometry());
    trace::TraceSummary summary;
    for (const Event& e : events) summary.add(e, nullptr);
    fit.see(events);
    const auto choice = fit.prefers(summary);
    return choice ? fmt::format("{} {}", choice->dev, choice->why) : std::string();
  };
  EXPECT_EQ(preferred({on(1, 900), on(2, 12), on(1, 12), on(1, 13)}),
            "2 the one that fits the image");
  EXPECT_EQ(preferred({on(1, 11), on(2, 12), on(2, 13), on(3, 900), on(3, 12), on(3, 12)}),
            "2 the busiest one that fits the image");
  EXPECT_EQ(preferred({on(1, 900), on(2, 901)}), "");
  Event lost;
  EXPECT_EQ(preferred({lost, on(1, 900), lost, on(2, 12)}), "2 the one that fits the image");
}

}  // namespace
}  // namespace e4r::test
