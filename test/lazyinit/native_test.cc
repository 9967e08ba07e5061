// SPDX-License-Identifier: GPL-2.0-or-later
// Tests when the work is left to mke2fs or tune2fs, and which options these programs then get.
// e2fsprogs/test/both runs the real programs.
#include "lazyinit/mkfs_options.h"

#include <gtest/gtest.h>

namespace e4r::lazyinit {
namespace {

using Words = std::vector<std::string>;

// The beginning of the list that mke2fs 1.47.4 with the series prints.
constexpr const char* kWithKey =
    "Valid extended options are:\n"
    "\tpacked_meta_blocks=<0 to disable, 1 to enable>\n"
    "\titable_init=<lazy|zero|discard|write|probe>\n"
    "\tlazy_itable_init=<0 to disable, 1 to enable>\n";

MkfsOptions options_of(const Words& words) {
  const auto options = parse_mkfs_options(words);
  EXPECT_TRUE(options.ok()) << options.error().message;
  return options.ok() ? *options : MkfsOptions{};
}

bool can(const Words& words, const Words& methods) {
  return mke2fs_can(options_of(words), [&methods] { return methods; });
}

Words arguments_for(const Words& words, const Storage& storage) {
  MkfsOptions options = options_of(words);
  EXPECT_TRUE(add_for_native(options, storage).ok());
  return options.arguments;
}

TEST(Native, ReadsTheListOfAProgram) {
  EXPECT_EQ(values_of_key(kWithKey, "itable_init"),
            (Words{"lazy", "zero", "discard", "write", "probe"}));
  EXPECT_EQ(values_of_key("\titable=<finish|probe|rearm[:groups]>\n", "itable"),
            (Words{"finish", "probe", "rearm"}));
}

TEST(Native, AKeyThatEndsLikeItIsAnotherKey) {
  EXPECT_EQ(values_of_key("\tlazy_itable_init=<0 to disable, 1 to enable>\n", "itable_init"),
            Words{});
  EXPECT_EQ(values_of_key("\tinit_itable=<multiplier>\n", "itable"), Words{});
  EXPECT_EQ(values_of_key("", "itable"), Words{});
  EXPECT_EQ(values_of_key("itable=<finish", "itable"), Words{"finish"});
}

TEST(Native, Mke2fsDoesWhatItHasAMethodFor) {
  const Words methods = values_of_key(kWithKey, "itable_init");
  for (const std::string& method : methods) {
    EXPECT_TRUE(can({"-E", "itable_init=" + method, "x"}, methods)) << method;
    EXPECT_FALSE(can({"-E", "itable_init=" + method, "x"}, {})) << method;
  }
  EXPECT_FALSE(can({"-E", "itable_init=probe", "x"}, {"lazy", "zero"}));
}

TEST(Native, WhatMke2fsDoesNotHaveIsNotAskedFor) {
  const auto never = []() -> Words {
    ADD_FAILURE() << "asked";
    return {};
  };
  for (const std::string keys : {"itable_init=prezeroed", "itable_init=zero,itable_threads=2",
                                 "itable_init=zero,write_unreadable", "init_itable=5", "nodiscard"})
    EXPECT_FALSE(mke2fs_can(options_of({"-E", keys, "x"}), never)) << keys;
}

TEST(Native, Mke2fsIsToldTheMethod) {
  constexpr Storage kFile = {.reads_as_zeros = false, .zeros_last = true};
  EXPECT_EQ(arguments_for({"-E", "stride=4,itable_init=write", "x"}, kFile),
            (Words{"-E", "stride=4,itable_init=write,lazy_journal_init=0", "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=zero,lazy_journal_init=1", "x"}, kFile),
            (Words{"-E", "lazy_journal_init=1,itable_init=zero", "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=lazy,init_itable=5", "x"}, kFile),
            (Words{"-E", "itable_init=lazy,lazy_journal_init=0", "x"}));
}

TEST(Native, AJournalInHolesIsLeftOnlyIfTheTablesAre) {
  constexpr Storage kHoles = {.reads_as_zeros = true, .zeros_last = true};
  EXPECT_EQ(arguments_for({"-E", "itable_init=lazy", "x"}, kHoles),
            (Words{"-E", "itable_init=lazy,lazy_journal_init=1", "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=zero", "x"}, kHoles),
            (Words{"-E", "itable_init=zero,lazy_journal_init=0", "x"}));
}

TEST(Native, AProbeDiscardsOnlyWhereZerosLast) {
  constexpr Storage kDisk = {.reads_as_zeros = false, .zeros_last = false};
  constexpr Storage kLoop = {.reads_as_zeros = false, .zeros_last = true};
  const std::string probe = "itable_init=probe,lazy_journal_init=0";
  EXPECT_EQ(arguments_for({"-E", "itable_init=probe", "x"}, kDisk), (Words{"-E", probe, "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=probe", "x"}, kLoop),
            (Words{"-E", probe + ",discard", "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=probe,trust_discard", "x"}, kDisk),
            (Words{"-E", probe + ",discard", "x"}));
  EXPECT_EQ(arguments_for({"-E", "itable_init=probe,nodiscard", "x"}, kLoop),
            (Words{"-E", "nodiscard," + probe, "x"}));
  MkfsOptions refused = options_of({"-E", "itable_init=probe,discard", "x"});
  EXPECT_FALSE(add_for_native(refused, kDisk).ok());
}

}  // namespace
}  // namespace e4r::lazyinit
