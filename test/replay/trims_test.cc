// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/trims.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/model.h"

namespace e4r::replay {
namespace {

using trace::Event;
using trace::EventKind;

struct Script {
  void trim(std::uint32_t pid, std::uint32_t group, std::uint32_t start = 0,
            std::uint32_t last = 799) {
    Event& e = events.emplace_back();
    e.kind = EventKind::trim_all_free;
    e.pid = pid;
    e.group = group;
    e.logical = start;
    e.count = last;
  }
  void discard(std::uint32_t pid, std::uint32_t group, std::uint32_t clusters) {
    Event& e = events.emplace_back();
    e.kind = EventKind::discard_blocks;
    e.pid = pid;
    e.block = geometry.first_block(group) + 10;
    e.count = clusters;
  }
  // Formats the trims as "call/minlen/sent".
  [[nodiscard]] std::string read(bool discards = true, bool warm = false) const {
    test::MemorySource source(events, 3);
    const auto trims = recorded_trims(source, geometry, discards, warm);
    if (!trims.ok()) return trims.error().message;
    std::string out;
    for (const RecordedTrim& trim : *trims)
      out += trim.minlen == UINT32_MAX
                 ? fmt::format("{}/none/{} ", trim.call, trim.sent)
                 : fmt::format("{}/{}/{} ", trim.call, trim.minlen, trim.sent);
    return out;
  }
  std::vector<Event> events;
  Geometry geometry = {
      .blocks_count = 8000, .blocks_per_group = 800, .clusters_per_group = 800, .groups = 10};
};

TEST(RecordedTrims, TheShortestRunOfACallStandsForItsMinlen) {
  Script s;
  s.trim(1, 0);
  s.discard(1, 0, 30);
  s.discard(9, 0, 2);  // sent by a worker thread
  s.trim(1, 1);
  s.trim(1, 3);
  s.discard(1, 3, 20);
  s.discard(1, 3, 40);
  EXPECT_EQ(s.read(), "0/20/1 0/20/0 0/20/2 ");
  s.trim(1, 2);
  EXPECT_EQ(s.read(), "0/20/1 0/20/0 0/20/2 1/none/0 ") << "a call goes upwards";
}

TEST(RecordedTrims, ACallEndsWithAPartOfAGroup) {
  Script s;
  s.trim(1, 0, 5);
  s.discard(1, 0, 30);
  s.trim(1, 1, 0, 700);
  s.trim(1, 2);
  s.discard(1, 2, 8);
  s.trim(1, 3, 1);
  s.discard(1, 3, 9);
  EXPECT_EQ(s.read(), "0/30/1 0/30/0 1/8/1 2/9/1 ");
}

TEST(RecordedTrims, ThreadsAreApart) {
  Script s;
  s.trim(1, 0);
  s.trim(2, 1);
  s.discard(1, 0, 30);
  s.discard(2, 1, 3);
  s.trim(1, 1);
  s.discard(1, 1, 20);
  EXPECT_EQ(s.read(), "0/20/1 1/3/1 0/20/1 ");
}

TEST(RecordedTrims, WithoutDiscardsAllIsLongEnough) {
  Script s;
  s.trim(1, 0);
  s.trim(1, 0);
  EXPECT_EQ(s.read(false), "0/1/0 1/1/0 ");
}

// The file system was already mounted when the recording began. In the recording, nothing happens
// in group 0, clusters are freed in group 1, and FITRIM discards in group 2.
TEST(RecordedTrims, AGroupThatIsLeftOutAtFirstWasTrimmed) {
  Script s;
  Event& freed = s.events.emplace_back();
  freed.kind = EventKind::mballoc_free;
  freed.result = {1, 5, 6, 0};
  for (int call = 0; call < 2; ++call) {
    s.trim(1, 0);
    s.trim(1, 1);
    s.trim(1, 2);
    s.discard(1, 2, 4);
  }
  EXPECT_EQ(s.read(true, true), "0/none/0 0/4/0 0/4/1 1/4/0 1/4/0 1/4/1 ");
  EXPECT_EQ(s.read(true, false), "0/4/0 0/4/0 0/4/1 1/4/0 1/4/0 1/4/1 ");
}

}  // namespace
}  // namespace e4r::replay
