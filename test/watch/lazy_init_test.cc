// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/lazy_init.h"

#include <gtest/gtest.h>

#include <chrono>

namespace e4r::test {
namespace {

using std::chrono::seconds;
using watch::LazyInitPace;
using watch::LazyInitProgress;

// lazy_init.sh tests the figures with the kernel's real thread.
TEST(LazyInitPace, IsThatOfTheLastMinute) {
  LazyInitPace pace;
  const LazyInitPace::Clock::time_point at{};
  EXPECT_FALSE(pace.groups_per_s());
  pace.see(at, 1000);
  EXPECT_FALSE(pace.groups_per_s());
  pace.see(at + seconds(1), 1000);
  EXPECT_FALSE(pace.groups_per_s()) << "none was zeroed";
  pace.see(at + seconds(10), 980);
  EXPECT_EQ(pace.groups_per_s(), 2.0);
  pace.see(at + seconds(80), 700);
  EXPECT_EQ(pace.groups_per_s(), 4.0) << "the first counts are too old";
  pace.see(at + seconds(90), 5000);
  EXPECT_FALSE(pace.groups_per_s()) << "more groups than before: begins anew";
}

TEST(LazyInitProgress, SaysWhatIsLeft) {
  EXPECT_FALSE((LazyInitProgress{.groups_left = 10, .runs = true}.seconds_left()));
  const LazyInitProgress some = {.groups_left = 10, .runs = true, .groups_per_s = 4.0};
  EXPECT_EQ(some.seconds_left(), 2.5);
  EXPECT_FALSE((LazyInitProgress{.groups_left = 10, .groups_per_s = 4.0}.seconds_left()));
}

TEST(LazyInitProgress, TheMountMayForbidIt) {
  EXPECT_TRUE(watch::lets_lazy_init_run("rw,relatime"));
  EXPECT_TRUE(watch::lets_lazy_init_run("rw,init_itable=100"));
  EXPECT_FALSE(watch::lets_lazy_init_run("noinit_itable"));
  EXPECT_FALSE(watch::lets_lazy_init_run("rw,noinit_itable,discard"));
}

}  // namespace
}  // namespace e4r::test
