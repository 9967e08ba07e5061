// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the search for the first decision in which two runs of one trace differ.
#include "replay/accounts.h"

#include <gtest/gtest.h>

namespace e4r::replay {
namespace {

allocator::Decision found(std::uint32_t start) {
  allocator::Decision out;
  out.success = true;
  out.orig = {1, 0, 8, 0};
  out.goal = {1, 0, 16, 0};
  out.result = {2, start, 16, 0};
  out.block = 65536 + start;
  out.len = 8;
  out.criterion = mb::Criterion::cr1;
  out.found = 3;
  return out;
}

DecisionLog log_of(std::initializer_list<allocator::Decision> decisions,
                   const std::vector<std::uint64_t>& write_down = {}) {
  DecisionLog out(write_down);
  std::uint64_t number = 0;
  for (const allocator::Decision& decision : decisions) out.add(++number, decision);
  return out;
}

TEST(DecisionLog, RunsPartAtTheFirstRequestThatDiffers) {
  const DecisionLog log = log_of({found(0), found(16), found(32)});
  EXPECT_EQ(log.alike(log_of({found(0), found(16), found(32)})), 3u);
  EXPECT_EQ(log.alike(log_of({found(0), found(17), found(32)})), 1u);
  EXPECT_EQ(log.alike(log_of({found(0), found(16)})), 2u);
  EXPECT_EQ(log.alike(DecisionLog()), 0u);
}

TEST(DecisionLog, WhatAClosingEventDoesNotShowIsNoDifference) {
  const DecisionLog log = log_of({found(0)});
  allocator::Decision same = found(0);
  same.found += 0x10000;
  same.flags += 0x20000;
  same.ns = 700;
  same.goal_len = 512;
  EXPECT_EQ(log.alike(log_of({same})), 1u);
}

TEST(DecisionLog, EveryFieldThatAClosingEventShowsCounts) {
  using allocator::Decision;
  const DecisionLog log = log_of({found(0)});
  const std::vector<void (*)(Decision&)> changes = {
      [](Decision& d) { d.prealloc = true; },
      [](Decision& d) { d.success = false; },
      [](Decision& d) { ++d.orig.len; },
      [](Decision& d) { ++d.goal.group; },
      [](Decision& d) { ++d.goal.start; },
      [](Decision& d) { ++d.goal.len; },
      [](Decision& d) { ++d.goal.logical; },
      [](Decision& d) { ++d.result.len; },
      [](Decision& d) { ++d.result.logical; },
      [](Decision& d) { ++d.block; },
      [](Decision& d) { ++d.len; },
      [](Decision& d) { ++d.found; },
      [](Decision& d) { ++d.groups_scanned; },
      [](Decision& d) { d.criterion = mb::Criterion::cr2; },
      [](Decision& d) { d.flags ^= mb::hint_data; },
      [](Decision& d) { ++d.tail; },
      [](Decision& d) { d.broken = 32; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Decision changed = found(0);
    changes[i](changed);
    EXPECT_EQ(log.alike(log_of({changed})), 0u) << i;
  }
  // If a preallocation served the request, there is no search to compare.
  Decision hit = found(0), other = found(0);
  hit.prealloc = other.prealloc = true;
  ++other.found;
  EXPECT_EQ(log_of({hit}).alike(log_of({other})), 1u);
}

TEST(DecisionLog, WritesDownThoseThatAreWanted) {
  EXPECT_EQ(log_of({found(0), found(16)}).text(1), "");
  const DecisionLog log = log_of({found(0), found(16), found(32)}, {1, 2, 7});
  EXPECT_EQ(log.text(0), "");
  EXPECT_NE(log.text(1).find("result 2/16/16@0"), std::string::npos) << log.text(1);
  EXPECT_NE(log.text(2).find("result 2/32/16@0"), std::string::npos) << log.text(2);
  EXPECT_EQ(log.text(7), "") << "there is no such entry";
}

}  // namespace
}  // namespace e4r::replay
