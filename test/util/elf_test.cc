// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/file.h"

#include <gtest/gtest.h>

namespace e4r {
namespace {

TEST(ElfTest, AProgramIsWholeOrCutShort) {
  const auto own = read_file("/proc/self/exe");
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_FALSE(is_cut_elf(*own));
  for (const std::size_t size : {std::size_t{4}, std::size_t{5}, std::size_t{63}, std::size_t{64},
                                 std::size_t{200}, own->size() / 16, own->size() / 8})
    EXPECT_TRUE(is_cut_elf(std::string_view(*own).substr(0, size))) << size;
}

TEST(ElfTest, NumbersThatAreTooLargeAreNoPlaces) {
  std::string own = *read_file("/proc/self/exe");
  for (std::size_t i = 32; i < 40; ++i) own[i] = '\xff';  // e_phoff
  EXPECT_TRUE(is_cut_elf(own));
}

TEST(ElfTest, OtherFilesAreNotCut) {
  EXPECT_FALSE(is_cut_elf(""));
  EXPECT_FALSE(is_cut_elf("#!/bin/sh"));
  EXPECT_FALSE(is_cut_elf(std::string("\177ELF\1", 5) + std::string(200, '\0')));
}

}  // namespace
}  // namespace e4r
