// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_stream.h"

#include <gtest/gtest.h>

#include <deque>

#include "util/rng.h"

namespace e4r::replay {
namespace {

// Compares the queue with a deque, while it often grows, becomes empty and wraps around.
TEST(NumberedQueue, IsAQueue) {
  NumberedQueue<std::uint64_t> mine;
  std::deque<std::uint64_t> model;
  Rng rng(11);
  std::uint64_t came = 0;
  std::size_t most = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool grows = step / 2'000 % 2 == 0;
    if (model.empty() || rng.below(10) < (grows ? 6 : 3)) {
      EXPECT_EQ(mine.end(), came);
      EXPECT_EQ(mine.push(came * 7), came * 7);
      model.push_back(came++ * 7);
    } else {
      mine.pop();
      model.pop_front();
    }
    most = std::max(most, model.size());
    ASSERT_EQ(mine.size(), model.size());
    ASSERT_EQ(mine.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(mine.front(), model.front());
    ASSERT_EQ(mine.back(), model.back());
    const std::size_t at = rng.below(model.size());
    ASSERT_EQ(mine[came - model.size() + at], model[at]);
  }
  EXPECT_GT(most, 100u);
}

}  // namespace
}  // namespace e4r::replay
