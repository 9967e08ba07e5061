// SPDX-License-Identifier: GPL-2.0-or-later
// Tests how a throttle keeps its pace, with a clock that advances only by sleeping.
#include "lazyinit/zeroer.h"

#include <gtest/gtest.h>

namespace e4r::lazyinit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FakeClock : public Clock {
 public:
  Duration now() override { return time; }
  void sleep(Duration length) override {
    longest = std::max(longest, length);
    time += length;
    if (time >= alarm && stop != nullptr) *stop = true;
  }
  Duration time = seconds(100);
  Duration longest{0};
  Duration alarm = Duration::max();
  std::atomic<bool>* stop = nullptr;
};

class Pacing : public testing::Test {
 protected:
  // Returns the time that `work` takes by this clock.
  template <class Work>
  Clock::Duration timed(Work work) {
    const auto start = clock_.time;
    work();
    return clock_.time - start;
  }

  FakeClock clock_;
  Pace pace_;
  std::atomic<bool> stop_ = false;
  static void nothing() {}
};

TEST_F(Pacing, WithoutLimitsNothingSleeps) {
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] {
              throttle.before(1u << 30, nothing);
              throttle.after(seconds(5));
            }).count(),
            0);
}

TEST_F(Pacing, TheMultiplierFollowsTheTimeOfEachGroup) {
  pace_.wait_multiplier = 10;
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] { throttle.after(milliseconds(7)); }), milliseconds(70));
  EXPECT_EQ(timed([&] { throttle.after(milliseconds(300)); }), seconds(3));
  EXPECT_EQ(timed([&] { throttle.after(Clock::Duration(1)); }), Clock::Duration(10))
      << "no rounding to a tick";
}

TEST_F(Pacing, TheRateHoldsOverAll) {
  pace_.max_rate = 1u << 20;
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] {
              for (int i = 0; i < 11; ++i) throttle.before(2u << 20, nothing);
            }),
            seconds(20))
      << "the last one starts when the first ten are paid for";
}

TEST_F(Pacing, WhatWasNotWrittenIsNotPaidFor) {
  pace_.max_rate = 1u << 20;
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] {
              for (int i = 0; i < 10; ++i) {
                throttle.before(2u << 20, nothing);
                throttle.give_back(i % 2 == 0 ? 2u << 20 : 1u << 20);
              }
              throttle.before(1, nothing);
            }),
            seconds(5))
      << "holes, and groups of which half was written";
}

TEST_F(Pacing, TimeUnusedIsNotSavedUp) {
  pace_.max_rate = 1u << 20;
  Throttle throttle(pace_, nullptr, clock_);
  throttle.before(1u << 20, nothing);
  clock_.time += seconds(1000);
  EXPECT_EQ(timed([&] {
              for (int i = 0; i < 5; ++i) throttle.before(1u << 20, nothing);
            }),
            seconds(4));
}

TEST_F(Pacing, SlowDevicesAreNotSlowedByTheRate) {
  pace_.max_rate = 1u << 20;
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] {
              for (int i = 0; i < 5; ++i) {
                throttle.before(1u << 20, nothing);
                clock_.time += seconds(2);  // the group itself
              }
            }),
            seconds(10));
}

TEST_F(Pacing, PausesAreAskedAfterOnceASecond) {
  int answers = 3;
  int calls = 0;
  pace_.paused = [&] { return answers-- > 0; };
  Throttle throttle(pace_, nullptr, clock_);
  EXPECT_EQ(timed([&] { throttle.before(1, [&] { ++calls; }); }), seconds(3));
  EXPECT_EQ(calls, 1);
}

TEST_F(Pacing, StopEndsALongSleep) {
  pace_.wait_multiplier = 1000;
  clock_.stop = &stop_;
  clock_.alarm = clock_.time + milliseconds(250);
  Throttle throttle(pace_, &stop_, clock_);
  EXPECT_LE(timed([&] { throttle.after(seconds(60)); }), milliseconds(350));
  EXPECT_LE(clock_.longest, milliseconds(100));
  EXPECT_TRUE(throttle.stopped());
}

TEST_F(Pacing, StopEndsAPause) {
  pace_.paused = [] { return true; };
  clock_.stop = &stop_;
  clock_.alarm = clock_.time + seconds(2);
  Throttle throttle(pace_, &stop_, clock_);
  EXPECT_LE(timed([&] { throttle.before(1, nothing); }), seconds(3));
}

TEST_F(Pacing, TheMachinesClockMoves) {
  const auto start = system_clock().now();
  system_clock().sleep(milliseconds(2));
  EXPECT_GE(system_clock().now() - start, milliseconds(2));
}

}  // namespace
}  // namespace e4r::lazyinit
