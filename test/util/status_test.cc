// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace e4r {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return error("{} is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  E4R_TRY(const int h, half(n));
  E4R_TRY(const int q, half(h));
  return q;
}

Status check_even(int n) {
  E4R_CHECK(half(n));
  return {};
}

TEST(Result, PropagatesValueAndError) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(5).error().message, "5 is odd");
}

TEST(Result, MovesWhatItHolds) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 7);
}

TEST(ErrnoText, NamesTheError) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace e4r
