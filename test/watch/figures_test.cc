// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace e4r::watch {
namespace {

constexpr std::uint64_t kSecond = Samples::kEveryNs;

results::Outcome outcome(std::uint64_t requests) {
  results::Outcome out;
  out.tally.requests = requests;
  out.searches.extents_scanned = 3 * requests;
  out.searches[mb::Criterion::cr1].hits = requests / 2;
  out.free.extents.add(0, 10 + requests);
  return out;
}

std::vector<results::Outcome> columns(std::uint64_t first, std::uint64_t second) {
  std::vector<results::Outcome> out;
  out.push_back(outcome(first));
  out.push_back(outcome(second));
  return out;
}

TEST(OutcomeBetween, CountsAreOfTheTimeAndTheRestIsOfItsEnd) {
  const results::Outcome out = outcome_between(outcome(100), outcome(160), 2);
  EXPECT_EQ(out.tally.requests, 60u);
  EXPECT_EQ(out.searches.extents_scanned, 180u);
  EXPECT_EQ(out.searches[mb::Criterion::cr1].hits, 30u);
  EXPECT_FALSE(out.searches.breaks) << "nobody counted";
  EXPECT_EQ(out.free.extents.max, 170u);
  EXPECT_DOUBLE_EQ(out.requests_per_s(), 30);
}

TEST(Samples, HaveTheLastSecondTheLastMinuteAndAll) {
  Samples samples;
  EXPECT_TRUE(samples.due(5));
  // The n-th second has n requests; the second column has twice as many.
  std::uint64_t sum = 0;
  for (std::uint64_t second = 0; second <= 100; ++second) {
    sum += second;
    const std::uint64_t at = 7 + second * kSecond;
    EXPECT_EQ(samples.due(at - 1), second == 0);
    ASSERT_TRUE(samples.due(at));
    samples.add(at, columns(sum, 2 * sum));
  }
  const auto requests = [&](Window window, std::size_t column) {
    return samples.of(window, column)->tally.requests;
  };
  EXPECT_EQ(requests(Window::second, 0), 100u);
  EXPECT_EQ(requests(Window::second, 1), 200u);
  EXPECT_EQ(requests(Window::minute, 0), 5050u - 820u) << "without the first forty seconds";
  EXPECT_EQ(requests(Window::start, 0), 5050u);
  EXPECT_DOUBLE_EQ(samples.of(Window::second, 0)->elapsed_s, 1);
  EXPECT_DOUBLE_EQ(samples.of(Window::minute, 0)->elapsed_s, 60);
  EXPECT_DOUBLE_EQ(samples.of(Window::start, 0)->elapsed_s, 100);
  EXPECT_FALSE(samples.of(Window::second, 2));
}

TEST(Samples, OfTwoMomentsAreTheLeastForAWindow) {
  Samples samples;
  for (const Window window : kWindows) EXPECT_FALSE(samples.of(window, 0));
  samples.add(kSecond, columns(4, 5));
  for (const Window window : kWindows) EXPECT_FALSE(samples.of(window, 0));
  // Nothing happens for 2.5 seconds, and then a request arrives. It counts in the next second.
  samples.add(kSecond * 7 / 2, columns(4, 5));
  EXPECT_EQ(samples.last_ns(), 3 * kSecond);
  EXPECT_EQ(samples.of(Window::second, 0)->tally.requests, 0u);
  EXPECT_DOUBLE_EQ(samples.of(Window::second, 0)->elapsed_s, 2);
}

TEST(Samples, ThatAreOldAreForgotten) {
  Samples samples;
  samples.add(0, columns(1, 1));
  samples.add(kSecond, columns(2, 2));
  samples.add(1000 * kSecond, columns(10, 10));
  EXPECT_EQ(samples.of(Window::minute, 0)->tally.requests, 8u);
  EXPECT_DOUBLE_EQ(samples.of(Window::minute, 0)->elapsed_s, 999);
  samples.add(1070 * kSecond, columns(15, 15));
  EXPECT_EQ(samples.of(Window::minute, 0)->tally.requests, 5u);
  EXPECT_EQ(samples.of(Window::start, 0)->tally.requests, 15u);
}

}  // namespace
}  // namespace e4r::watch
