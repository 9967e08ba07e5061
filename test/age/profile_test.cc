// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <set>

#include "age/profile.h"

namespace e4r::age {
namespace {

TEST(Profile, ThereAreSixWithTheirSource) {
  std::set<std::string> names;
  for (const Profile& profile : profiles()) {
    names.insert(profile.name);
    EXPECT_GT(profile.source.size(), 20u) << profile.name;
    for (const auto* steps : {&profile.sizes, &profile.ages}) {
      double last = -1, all = 0;
      for (const Step& step : *steps) {
        EXPECT_GT(step.limit, last) << profile.name;
        last = step.limit;
        all += step.weight;
      }
      EXPECT_GT(all, 0) << profile.name;
    }
    EXPECT_EQ(find_profile(profile.name)->name, profile.name);
  }
  EXPECT_EQ(names.size(), 6u);
}

TEST(Profile, IsReadFromText) {
  const auto profile = parse_profile(
      "# a remark\n\nsize 0 1\nsize 4096 3   # another\nage 1 1\nage 2.5 7\nappend 0.25\nrewrite "
      "0\n"
      "sync 40\n",
      "mine");
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->name, "mine");
  ASSERT_EQ(profile->sizes.size(), 2u);
  EXPECT_EQ(profile->sizes[1].limit, 4096);
  EXPECT_EQ(profile->sizes[1].weight, 3);
  ASSERT_EQ(profile->ages.size(), 2u);
  EXPECT_EQ(profile->ages[1].limit, 2.5);
  EXPECT_EQ(profile->append_share, 0.25);
  EXPECT_EQ(profile->rewrite_share, 0);
  EXPECT_EQ(profile->sync_every, 40);
}

TEST(Profile, SaysWhatIsWrongAndWhere) {
  const auto message = [](std::string_view text) {
    const auto profile = parse_profile(text, "mine");
    return profile.ok() ? "nothing" : profile.error().message;
  };
  EXPECT_EQ(message("size 1 1\nsize x 1\n"),
            "mine: line 2: give a number of 0 or more after 'size'");
  EXPECT_EQ(message("size 1\n"), "mine: line 1: give a weight after 'size 1'");
  EXPECT_EQ(message("size 2 1\nsize 2 1\n"), "mine: line 2: size 2 does not come after 2");
  EXPECT_EQ(message("size 1 -1\n"), "mine: line 1: give a weight after 'size 1'");
  EXPECT_EQ(message("size nan 1\n"), "mine: line 1: give a number of 0 or more after 'size'");
  EXPECT_EQ(
      message("color 1\n"),
      "mine: line 1: unknown word 'color': choose from size, age, append, rewrite, sync, punch");
  EXPECT_EQ(message("append 2\n"),
            "mine: line 1: append 2 is not a share of the operations: give 0 to 1");
  EXPECT_EQ(message("sync 0\n"), "mine: line 1: sync 0: give at least 1 operation");
  EXPECT_EQ(message("age 1 1 1\n"), "mine: line 1: unexpected '1' at the end");
  EXPECT_EQ(message("age 1 1\n"), "mine: has no file sizes: give lines such as 'size 4096 10'");
  EXPECT_EQ(message("size 1 1\n"), "mine: has no file ages: give lines such as 'age 10 1'");
  EXPECT_EQ(message("size 0 5\nsize 9 0\nage 1 1\n"), "mine: has only empty files");
  EXPECT_EQ(message("size 1e16 1\nage 1 1\n"), "mine: has files of 1e+16 bytes");
  EXPECT_EQ(message("size 9 1\nage 0 1\n"),
            "mine: has only files of age 0: give lines such as 'age 10 1'");
  EXPECT_EQ(message("size 9 1\nage 1 1\nappend 0.5\nrewrite 0.5\n"),
            "mine: leaves too few operations that make files: append and rewrite add up to more "
            "than 0.9");
  EXPECT_NE(find_profile("/no/such/file").error().message.find("agrawal"), std::string::npos);
}

}  // namespace
}  // namespace e4r::age
