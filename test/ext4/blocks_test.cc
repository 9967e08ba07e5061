// SPDX-License-Identifier: GPL-2.0-or-later
#include "ext4/geometry.h"

#include <gtest/gtest.h>

namespace e4r {
namespace {

TEST(Blocks, AFileExtentGoesOnWhereFileAndDeviceDo) {
  const FileExtent extent = {10, 1000, 5};
  EXPECT_EQ(extent.end(), 15u);
  EXPECT_EQ(extent.block_end(), 1005u);
  EXPECT_TRUE(extent.is_continued_by({15, 1005, 1}));
  EXPECT_FALSE(extent.is_continued_by({16, 1005, 1})) << "a hole in the file";
  EXPECT_FALSE(extent.is_continued_by({15, 1006, 1})) << "a gap on the device";
}

TEST(Blocks, TheSameClustersMayBeForOtherBlocksOfAFile) {
  const Extent extent = {3, 100, 8, 50};
  EXPECT_TRUE(same_clusters(extent, {3, 100, 8, 7}));
  EXPECT_FALSE(same_clusters(extent, {3, 100, 9, 50}));
  EXPECT_FALSE(same_clusters(extent, {4, 100, 8, 50}));
  EXPECT_NE(extent, (Extent{3, 100, 8, 7}));
}

}  // namespace
}  // namespace e4r
