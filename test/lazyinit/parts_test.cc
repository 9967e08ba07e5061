// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the scratch target, the inventory and the power check separately.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lazyinit/layered_targets.h"
#include "lazyinit/recording_target.h"
#include "lazyinit/verify.h"
#include "lazyinit/zeroer.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

using Disk = std::vector<std::byte>;

Disk random_disk(Rng& rng, std::size_t size) {
  Disk disk(size);
  for (std::byte& b : disk) b = rng.below(3) == 0 ? std::byte(rng.next()) : std::byte{0};
  return disk;
}

// Compares random operations with a plain array.
TEST(ScratchTarget, ReadsWhatWasWrittenAndWritesNothing) {
  Rng rng(3);
  constexpr std::size_t kSize = 50000;
  const Disk start = random_disk(rng, kSize);
  auto below = std::make_unique<test::RecordingTarget>(start);
  test::RecordingTarget* untouched = below.get();
  ScratchTarget scratch(std::move(below));
  Disk model = start;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t offset = rng.below(kSize);
    const std::size_t length = rng.below(std::min<std::size_t>(kSize - offset, 12000) + 1);
    const auto part = std::span(model).subspan(offset, length);
    switch (rng.below(4)) {
      case 0: {
        const Disk bytes = random_disk(rng, length);
        ASSERT_TRUE(scratch.write(offset, bytes).ok());
        std::copy(bytes.begin(), bytes.end(), part.begin());
        break;
      }
      case 1:
        ASSERT_TRUE(scratch.zero(offset, length).ok());
        std::fill(part.begin(), part.end(), std::byte{0});
        break;
      case 2: {
        Disk got(length);
        ASSERT_TRUE(scratch.read(offset, got).ok());
        ASSERT_TRUE(std::equal(got.begin(), got.end(), part.begin())) << i;
        break;
      }
      default: {
        const auto first =
            std::find_if(part.begin(), part.end(), [](std::byte b) { return b != std::byte{0}; });
        const auto probed = scratch.probe(offset, length);
        ASSERT_TRUE(probed.ok());
        ASSERT_EQ(probed->content == Content::zeros, first == part.end()) << i;
        if (first == part.end()) break;
        ASSERT_EQ(probed->first, offset + static_cast<std::size_t>(first - part.begin()));
      }
    }
  }
  EXPECT_EQ(untouched->bytes(), start);
  EXPECT_FALSE(scratch.write(kSize - 1, Disk(2)).ok());
  EXPECT_FALSE(scratch.zero(kSize, 1).ok());
}

Table table(std::uint32_t group, bool uninit, bool zeroed, std::uint64_t left) {
  return {.group = group,
          .whole = {0, 1000},
          .unused = uninit ? 8u : 3u,
          .inode_uninit = uninit,
          .zeroed = zeroed,
          .unused_part = {0, left}};
}

TEST(Inventory, CountsRunsAndDraws) {
  const std::vector<Table> tables = {table(0, false, false, 500), table(1, true, false, 1000),
                                     table(2, true, false, 1000), table(3, true, true, 1000),
                                     table(4, false, false, 0)};
  const Inventory i = take_inventory(tables);
  EXPECT_EQ(i.groups, 5u);
  EXPECT_EQ(i.inode_uninit, 3u);
  EXPECT_EQ(i.zeroed, 1u);
  EXPECT_EQ(i.unused_inodes, 30u);
  EXPECT_EQ(i.table_bytes, 5000u);
  EXPECT_EQ(i.to_do, 3u);
  EXPECT_EQ(i.to_flag, 1u);
  EXPECT_EQ(i.bytes_to_do, 2500u);
  const auto runs = runs_of_groups(tables);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].first, 1u);
  EXPECT_EQ(runs[1].last, 2u);
  EXPECT_EQ(runs[2].bytes_to_do, 0u);
  EXPECT_EQ(map_of_groups(tables, 80), "o..#o");
  EXPECT_EQ(map_of_groups(tables, 2), "o+");
  EXPECT_EQ(map_of_groups({}, 2), "");
}

// The work is 2,500 bytes at 100 bytes per second, plus two seconds. The sleep takes three times as
// long, plus a tick.
TEST(Inventory, EstimatesWorkAndSleep) {
  const std::vector<Table> tables = {table(0, true, false, 2500), table(1, true, true, 2500)};
  const ZeroCost cost{100, std::chrono::seconds(2)};
  EXPECT_DOUBLE_EQ(estimate(take_inventory(tables), 3, cost).count(), 108 + kTick.count());
  EXPECT_DOUBLE_EQ(estimate(take_inventory(tables), 0, cost).count(), 27);
}

// On a disk of 30 GiB, the kernel needed 145 s. An estimate from the bytes alone would be 53 s.
TEST(Inventory, EstimatesGroupsAndNotBytesAlone) {
  std::vector<Table> tables;
  for (std::uint32_t i = 0; i < 240; ++i) tables.push_back(table(i, true, false, 2u << 20));
  const double seconds = estimate(take_inventory(tables), 10, {}).count();
  EXPECT_GT(seconds, 130);
  EXPECT_LT(seconds, 160);
}

class Power : public testing::Test {
 protected:
  void supply(const std::string& name, const std::string& attribute, const std::string& value) {
    std::filesystem::create_directories(dir_.file(name));
    std::ofstream(dir_.file(name) + "/" + attribute) << value << "\n";
  }
  test::TempDir dir_;
};

TEST_F(Power, MachineWithoutSupplies) {
  EXPECT_FALSE(on_battery(dir_.file("missing")));
  EXPECT_FALSE(on_battery(dir_.path()));
}

TEST_F(Power, BatteryAndMains) {
  supply("BAT0", "type", "Battery");
  supply("BAT0", "status", "Discharging");
  EXPECT_TRUE(on_battery(dir_.path()));
  supply("AC", "type", "Mains");
  supply("AC", "online", "0");
  EXPECT_TRUE(on_battery(dir_.path()));
  supply("AC", "online", "1");
  EXPECT_FALSE(on_battery(dir_.path()));
  supply("AC", "online", "0");
  supply("BAT0", "status", "Full");
  EXPECT_FALSE(on_battery(dir_.path()));
}

TEST_F(Power, BatteryOfAMouse) {
  supply("hid", "type", "Battery");
  supply("hid", "scope", "Device");
  supply("hid", "status", "Discharging");
  EXPECT_FALSE(on_battery(dir_.path()));
}

}  // namespace
}  // namespace e4r::lazyinit
