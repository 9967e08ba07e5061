// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/decision.h"

#include <gtest/gtest.h>

namespace e4r::allocator {
namespace {

std::uint64_t hash_of(std::initializer_list<std::pair<std::uint64_t, std::uint32_t>> answers) {
  DecisionHash hash;
  for (const auto& [block, clusters] : answers) hash.add(block, clusters);
  return hash.value();
}

// Another program computed these values: 64-bit FNV-1a over the bytes that the header names.
TEST(DecisionHash, IsTheOneThatIsDescribed) {
  EXPECT_EQ(hash_of({}), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_of({{1, 1}}), 0xff1ed9421877e875u);
  EXPECT_EQ(hash_of({{0x123456789abcdef0, 0x01020304}, {5, 6}}), 0x86dfbd1d42ed01c6u);
}

TEST(DecisionHash, TellsOrderAndLengths) {
  EXPECT_NE(hash_of({{1, 2}, {3, 4}}), hash_of({{3, 4}, {1, 2}}));
  EXPECT_NE(hash_of({{1, 2}}), hash_of({{1, 3}}));
  EXPECT_NE(hash_of({{1, 2}}), hash_of({{1, 2}, {0, 0}}));
  EXPECT_EQ(hash_of({{0, 7}}), hash_of({{9, 0}})) << "there was no space, however it is described";
}

}  // namespace
}  // namespace e4r::allocator
