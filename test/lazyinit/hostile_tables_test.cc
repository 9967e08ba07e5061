// SPDX-License-Identifier: GPL-2.0-or-later
// Runs every command on damaged file systems: inputs that the fuzzer found, and random damage.
#include "lazyinit/hostile_tables.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "util/rng.h"

namespace e4r::test {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& path) {
  const Disk file = load(path);
  std::vector<std::uint8_t> bytes;
  for (const std::byte b : file) bytes.push_back(std::to_integer<std::uint8_t>(b));
  return bytes;
}

TEST(HostileTables, WhatTheFuzzerKeptGetsNoWorse) {
  HostileTables tables;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAZYINIT_CORPUS)) {
    EXPECT_EQ(tables.judge(bytes_of(entry.path())), "") << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50u) << "of " << LAZYINIT_CORPUS;
}

TEST(HostileTables, WhatIsDrawnGetsNoWorse) {
  constexpr std::uint64_t kSeed = 20261123;
  HostileTables tables;
  for (std::uint64_t number = 0; number < 500; ++number) {
    Rng rng(kSeed + number);
    std::vector<std::uint8_t> bytes(rng.between(6, 120));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.below(256));
    ASSERT_EQ(tables.judge(bytes), "") << "seed " << kSeed + number;
  }
  EXPECT_GT(tables.done(), 500u);
}

}  // namespace
}  // namespace e4r::test
