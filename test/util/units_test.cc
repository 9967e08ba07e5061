// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/units.h"

#include <gtest/gtest.h>

namespace e4r {
namespace {

TEST(ParseSize, AcceptsPlainSuffixedAndFractional) {
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("4K"), 4096u);
  EXPECT_EQ(*parse_size("8m"), 8u << 20);
  EXPECT_EQ(*parse_size("1.5G"), 1610612736u);
  EXPECT_EQ(*parse_size("2KiB"), 2048u);
  EXPECT_EQ(*parse_size("15T"), 15ull << 40);
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const char* text : {"", "K", "4X", "4KK", "-1", "1..5G", " 4K", "18446744073709551616",
                           "99999999T", "1.5.2M", "."})
    EXPECT_FALSE(parse_size(text).ok()) << text;
  EXPECT_NE(parse_size("4X").error().message.find("'4X'"), std::string::npos);
}

TEST(ParseDuration, AddsUpUnits) {
  using std::chrono::milliseconds;
  EXPECT_EQ(*parse_duration("90s"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(*parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_duration("1.5m"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("2d"), milliseconds(172'800'000));
  EXPECT_EQ(*parse_duration("7"), milliseconds(7'000));
  EXPECT_EQ(*parse_duration("0"), milliseconds(0));
  for (const char* text :
       {"", "s", "10x", "-1s", "1 s", "1e300d", "1..5s", "m10", "99999999999999d"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(ParsePause, HasAUnitOrIsNone) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(*parse_pause("80us"), nanoseconds(80'000));
  EXPECT_EQ(*parse_pause("1.5ms"), nanoseconds(1'500'000));
  EXPECT_EQ(*parse_pause("1s5ns"), nanoseconds(1'000'000'005));
  EXPECT_EQ(*parse_pause("86400s"), nanoseconds(86'400'000'000'000));
  EXPECT_EQ(*parse_pause("0"), nanoseconds(0));
  for (const char* text : {"", "us", "10", "-1us", "1 us", "1m", "1e3us", "86401s", "1..5s", "00"})
    EXPECT_FALSE(parse_pause(text).ok()) << text;
}

TEST(ParseU64, WholeTextOnly) {
  EXPECT_EQ(*parse_u64("18446744073709551615"), ~0ull);
  EXPECT_FALSE(parse_u64("12a").ok());
  EXPECT_FALSE(parse_u64("").ok());
  EXPECT_FALSE(parse_u64("18446744073709551616").ok());
}

TEST(Format, SizesAndCounts) {
  EXPECT_EQ(format_size(512), "512 B");
  EXPECT_EQ(format_size(4096), "4.0 KiB");
  EXPECT_EQ(format_size(1610612736), "1.5 GiB");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

}  // namespace
}  // namespace e4r
