// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/rows.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace e4r::report {
namespace {

Value whole(std::uint64_t n) {
  return n;
}

TEST(ChangeText, WhatIsRoundedToNothingHasNoSign) {
  EXPECT_EQ(change_text(whole(1028610), whole(1028578)), "0.0 %");
  EXPECT_EQ(change_text(whole(1028578), whole(1028610)), "0.0 %");
  EXPECT_EQ(change_text(57.8201, 57.82), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(9995)), "-0.1 %");
  EXPECT_EQ(change_text(whole(10000), whole(9996)), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(10006)), "+0.1 %");
}

TEST(ChangeText, SaysWhatHasNoPercent) {
  EXPECT_EQ(change_text(whole(7), whole(7)), "=");
  EXPECT_EQ(change_text(whole(0), whole(0)), "=");
  EXPECT_EQ(change_text(whole(0), whole(3)), "new");
  EXPECT_EQ(change_text(whole(4), whole(0)), "-100.0 %");
  EXPECT_EQ(change_text(whole(4), whole(50)), "x12.5");
  EXPECT_EQ(change_text(Value(), whole(4)), "");
  EXPECT_EQ(change_text(whole(4), Value()), "");
}

}  // namespace
}  // namespace e4r::report
