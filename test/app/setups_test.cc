// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/setups.h"

#include <gtest/gtest.h>

namespace e4r::app {
namespace {

std::string compared(std::string_view recorded) {
  std::string out;
  for (const allocator::Policy* policy : with_neighbours(recorded))
    out += fmt::format("{}{}", out.empty() ? "" : " ", policy->name);
  return out;
}

TEST(WithNeighbours, AreLongTermKernelsBeforeAndAfter) {
  EXPECT_EQ(compared("legacy"), "legacy linux-6.12.77");
  EXPECT_EQ(compared("linux-6.5"), "linux-6.5 legacy linux-6.12.77");
  EXPECT_EQ(compared("linux-6.14"), "linux-6.14 legacy linux-6.12.77");
  EXPECT_EQ(compared("linux-6.12.77"), "linux-6.12.77 legacy linux-7.3");
  EXPECT_EQ(compared("linux-7.3"), "linux-7.3 linux-6.12.77");
}

TEST(WithNeighbours, OfAPatchedKernelAreTheOneThatItIsMadeOf) {
  EXPECT_EQ(compared("cr1.5"), "cr1.5 legacy");
}

TEST(ApplySettings, StopsAtTheFirstThatIsNone) {
  allocator::Tunables tunables;
  EXPECT_TRUE(apply_settings(tunables, {"mb_stripe=8", "mb_max_to_scan=3"}).ok());
  EXPECT_EQ(tunables.mb_stripe, 8u);
  EXPECT_EQ(tunables.mb_max_to_scan, 3u);
  const Status status = apply_settings(tunables, {"mb_stripe=9", "mb_no=1", "mb_max_to_scan=4"});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("mb_no"), std::string::npos);
  EXPECT_EQ(tunables.mb_max_to_scan, 3u);
}

}  // namespace
}  // namespace e4r::app
