// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/bytes.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "util/rng.h"

namespace e4r {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(~crc32c(~0u, bytes_of("123456789")), 0xe3069283u);  // RFC 3720's check value
  EXPECT_EQ(~crc32c_by_table(~0u, bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(7, {}), 7u);
}

// "123456789" is the standard check input of checksums.
TEST(Crc32c, ChecksumInvertsBothEnds) {
  EXPECT_EQ(checksum("123456789"), 0xe3069283u);
  EXPECT_EQ(checksum("6789", checksum("12345")), 0xe3069283u);
}

TEST(Crc32c, IsTheSameWithoutTheInstruction) {
  Rng rng(7);
  std::vector<std::byte> data(200);
  for (std::byte& byte : data) byte = static_cast<std::byte>(rng.below(256));
  for (std::size_t length = 0; length <= data.size(); ++length) {
    const auto part = std::span(data).subspan(data.size() - length);
    ASSERT_EQ(crc32c(static_cast<std::uint32_t>(length), part),
              crc32c_by_table(static_cast<std::uint32_t>(length), part))
        << length;
  }
}

TEST(Crc32c, CallsCanBeChained) {
  const auto whole = bytes_of("the descriptor of a group");
  EXPECT_EQ(crc32c(crc32c(~0u, whole.first(9)), whole.subspan(9)), crc32c(~0u, whole));
}

}  // namespace
}  // namespace e4r
