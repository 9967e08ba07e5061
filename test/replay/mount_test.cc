// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/load.h"

#include <gtest/gtest.h>

namespace e4r::replay {
namespace {

TEST(Mount, OptionsAreReadFromTheKernelsLine) {
  const MountFacts none = read_mount("mb_stripe:16\n/dev/a /mnt/data ext4 rw,relatime 0 0\n", 0);
  EXPECT_FALSE(none.data_writeback);
  EXPECT_FALSE(none.discard);
  const MountFacts both = read_mount("/dev/a /m ext4 rw,discard,data=writeback 0 0\nmb_x:1\n", 0);
  EXPECT_TRUE(both.data_writeback);
  EXPECT_TRUE(both.discard);
  const MountFacts apart = read_mount("/dev/a /discard ext4 rw,nodiscard,data=ordered 0 0", 0);
  EXPECT_FALSE(apart.data_writeback);
  EXPECT_FALSE(apart.discard);
}

// The kernel's line omits options that the superblock already sets.
TEST(Mount, DefaultsAreTheSuperblocks) {
  constexpr std::uint32_t kOrdered = 0x40, kWritebackAndDiscard = 0x460;
  for (const char* line : {"", "/dev/a /m ext4 rw 0 0\n"}) {
    EXPECT_TRUE(read_mount(line, kWritebackAndDiscard).data_writeback) << line;
    EXPECT_TRUE(read_mount(line, kWritebackAndDiscard).discard) << line;
    EXPECT_FALSE(read_mount(line, kOrdered).data_writeback) << line;
  }
  const MountFacts otherwise =
      read_mount("/dev/a /m ext4 rw,nodiscard,data=ordered 0 0\n", kWritebackAndDiscard);
  EXPECT_FALSE(otherwise.data_writeback);
  EXPECT_FALSE(otherwise.discard);
}

}  // namespace
}  // namespace e4r::replay
