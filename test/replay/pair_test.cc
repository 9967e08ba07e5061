// SPDX-License-Identifier: GPL-2.0-or-later
// Tests images and traces that need not belong together: inputs that the fuzzer found, and random
// pairs.
#include "support/pair.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "util/rng.h"

namespace e4r::test {
namespace {

TEST(Pair, WhatTheFuzzerKeptBreaksNothing) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PAIR_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    EXPECT_EQ(replay_pair(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50u) << "of " << PAIR_CORPUS;
}

TEST(Pair, WhatIsDrawnBreaksNothing) {
  constexpr std::uint64_t kSeed = 20230101;
  for (std::uint64_t number = 0; number < 3000; ++number) {
    Rng rng(kSeed + number);
    std::vector<std::uint8_t> bytes(rng.between(40, 900));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.below(256));
    ASSERT_EQ(replay_pair(bytes), "") << "seed " << kSeed + number;
  }
}

}  // namespace
}  // namespace e4r::test
