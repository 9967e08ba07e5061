// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/changes.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "guest/tree_files.h"
#include "support/process.h"
#include "util/file.h"

namespace fs = std::filesystem;

namespace e4r::guest {
namespace {

class ChangesTest : public TreeTest {
 protected:
  void SetUp() override {
    write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n");
    write("fs/ext4/ext4.h", kStockCounters);
    write("fs/ext4/mballoc.c", "int one;\nint two;\n");
    write("fs/ext4/super.c", "int super;\n");
    write("include/linux/gone.h", "int gone;\n");
    sh("git init -q . && git add . && git commit -qm first && git tag first");
  }
  // Runs a command in the tree.
  void sh(const std::string& command) {
    const auto done = test::run(
        {"sh", "-c",
         "cd \"$0\" && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
         "GIT_COMMITTER_EMAIL=a@b && " +
             command,
         tree_});
    ASSERT_EQ(done.status, 0) << done.err;
  }
  // Commits a change, makes a patch of it, and checks the first commit out again. The tree's
  // history keeps the commit.
  void change() {
    write("fs/ext4/mballoc.c", "int one;\nint three;\n");
    write("fs/ext4/new.c", "int new_one;\n");
    sh("git rm -q include/linux/gone.h && git add . && git commit -qm second && git tag second && "
       "git format-patch -1 --stdout >../patch && git checkout -q first");
  }
  [[nodiscard]] Tree tree() const { return *look_at_tree(tree_); }
  // Returns the contents of a file in the overlay, or "-" if it does not exist.
  [[nodiscard]] std::string made(const std::string& path) const {
    const auto text = read_file(overlay_ + "/" + path);
    return text.ok() ? *text : "-";
  }
  void expect_base() {
    EXPECT_EQ(made("fs/ext4/mballoc-tree.c"), "int one;\nint two;\n");
    EXPECT_EQ(made("fs/ext4/new.c"), "-");
    EXPECT_EQ(made("include/linux/gone.h"), "int gone;\n");
  }
  void expect_changed() {
    EXPECT_EQ(made("fs/ext4/mballoc-tree.c"), "int one;\nint three;\n");
    EXPECT_EQ(made("fs/ext4/new.c"), "int new_one;\n");
    EXPECT_EQ(made("include/linux/gone.h"), "-");
  }
  void expect_both(const Result<TwoTrees>& trees) {
    ASSERT_TRUE(trees.ok()) << trees.error().message;
    for (int i = 0; i < 2; ++i) {
      const Status base = make_overlay(tree(), overlay_, trees->base);
      ASSERT_TRUE(base.ok()) << base.error().message;
      expect_base();
      const Status with = make_overlay(tree(), overlay_, trees->with);
      ASSERT_TRUE(with.ok()) << with.error().message;
      expect_changed();
    }
    EXPECT_EQ(made("fs/ext4/super.c"), "int super;\n");
    EXPECT_NE(made("fs/ext4/mballoc.c").find("mballoc-tree.c"), std::string::npos);
    // The tree itself must not change.
    EXPECT_EQ(test::run({"git", "-C", tree_, "status", "--porcelain"}).out, "");
    EXPECT_EQ(*read_file(tree_ + "/fs/ext4/mballoc.c"), "int one;\nint two;\n");
  }

  std::string patch_ = dir_.file("patch");
};

TEST_F(ChangesTest, APatchMakesTwoTrees) {
  change();
  expect_both(with_patch(tree(), patch_));
}

TEST_F(ChangesTest, ATreeOfNobodysGitDoesToo) {
  change();
  fs::remove_all(tree_ + "/.git");
  const auto trees = with_patch(tree(), patch_);
  ASSERT_TRUE(trees.ok()) << trees.error().message;
  ASSERT_TRUE(make_overlay(tree(), overlay_, trees->with).ok());
  expect_changed();
}

TEST_F(ChangesTest, CommitsMakeTwoTreesWhateverIsCheckedOut) {
  change();
  const std::string second = test::run({"git", "-C", tree_, "rev-parse", "second"}).out;
  EXPECT_EQ(with_commits(tree(), "first..second")->with_commit + '\n', second);
  expect_both(with_commits(tree(), "first..second"));
  sh("git checkout -q second");
  const auto trees = with_commits(tree(), "first..second");
  ASSERT_TRUE(trees.ok()) << trees.error().message;
  ASSERT_TRUE(make_overlay(tree(), overlay_, trees->base).ok());
  expect_base();
}

// git warns about line endings that it would change, and continues.
TEST_F(ChangesTest, WarningsOfGitAreNoFiles) {
  change();
  write("fs/ext4/super.c", "int super;\nint more;\r\n");
  sh("git config core.autocrlf input");
  const auto trees = with_commits(tree(), "first..second");
  ASSERT_TRUE(trees.ok()) << trees.error().message;
  std::vector<std::string> names;
  for (const auto& [name, content] : trees->with) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"fs/ext4/mballoc.c", "fs/ext4/new.c",
                                             "fs/ext4/super.c", "include/linux/gone.h"}));
}

// make compares the times of files. So if a file gets its old contents back, its time must still
// become newer.
TEST_F(ChangesTest, WhatBecomesAsItWasIsNewer) {
  change();
  const auto trees = with_patch(tree(), patch_);
  ASSERT_TRUE(trees.ok()) << trees.error().message;
  ASSERT_TRUE(make_overlay(tree(), overlay_, trees->with).ok());
  const fs::path file = overlay_ + "/fs/ext4/mballoc-tree.c";
  const auto changed = fs::last_write_time(file);
  const auto unchanged = fs::last_write_time(overlay_ + "/fs/ext4/super.c");
  // This patch does not change the file that the first patch changes.
  std::ofstream(patch_)
      << "--- a/fs/ext4/super.c\n+++ b/fs/ext4/super.c\n@@ -1 +1 @@\n-int super;\n"
         "+int superb;\n";
  const auto other = with_patch(tree(), patch_);
  ASSERT_TRUE(other.ok()) << other.error().message;
  ASSERT_TRUE(make_overlay(tree(), overlay_, other->with).ok());
  EXPECT_EQ(made("fs/ext4/mballoc-tree.c"), "int one;\nint two;\n");
  EXPECT_EQ(made("fs/ext4/super.c"), "int superb;\n");
  EXPECT_GT(fs::last_write_time(file), changed);
  EXPECT_GT(fs::last_write_time(overlay_ + "/fs/ext4/super.c"), unchanged);
}

// If a vendor's mballoc.c has an mballoc.h in its directory, the overlay has both.
TEST_F(ChangesTest, AnotherMballocBringsItsHeader) {
  const std::string mballoc = dir_.file("vendor/mballoc.c");
  fs::create_directories(dir_.file("vendor"));
  EXPECT_FALSE(with_mballoc(mballoc).ok());
  std::ofstream(mballoc) << "int vendors;\n";
  const auto alone = with_mballoc(mballoc);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(*alone, (FileChanges{{"fs/ext4/mballoc.c", "int vendors;\n"}}));
  std::ofstream(dir_.file("vendor/mballoc.h")) << "int ac_orig_goal_len;\n";
  const auto both = with_mballoc(mballoc);
  ASSERT_TRUE(both.ok()) << both.error().message;
  const auto tree = look_at_tree(tree_);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const Status made = make_overlay(*tree, overlay_, *both);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*read_file(overlay_ + "/fs/ext4/mballoc-tree.c"), "int vendors;\n");
  EXPECT_EQ(*read_file(overlay_ + "/fs/ext4/mballoc.h"), "int ac_orig_goal_len;\n");
  EXPECT_NE(read_file(overlay_ + "/fs/ext4/e4replay-tree.h")->find("E4R_REMEMBERS_GOAL"),
            std::string::npos);
  EXPECT_EQ(*read_file(tree_ + "/fs/ext4/mballoc.c"), "int one;\nint two;\n");
}

TEST_F(ChangesTest, WhatDoesNotApplyIsSaid) {
  const auto refused = [&](const std::string& text, const std::string& words) {
    std::ofstream(patch_) << text;
    const auto trees = with_patch(tree(), patch_);
    ASSERT_FALSE(trees.ok()) << text;
    EXPECT_NE(trees.error().message.find(words), std::string::npos) << trees.error().message;
    EXPECT_EQ(trees.error().message.find('\n'), std::string::npos);
  };
  refused("nothing of the kind\n", "is not a patch");
  refused("--- a/fs/ext4/super.c\n+++ b/fs/ext4/super.c\n@@ -1 +1 @@\n-int other;\n+int x;\n",
          "does not apply");
  refused("--- a/fs/none.c\n+++ b/fs/none.c\n@@ -1 +1 @@\n-int other;\n+int x;\n",
          "does not apply");
  refused("--- /dev/null\n+++ b/../outside.c\n@@ -0,0 +1 @@\n+int x;\n", "outside.c");
  EXPECT_FALSE(fs::exists(dir_.file("outside.c")));
  EXPECT_FALSE(with_patch(tree(), dir_.file("none")).ok());
  for (const char* range : {"first", "first..", "..first", "first...first", "first..first",
                            "none..first", "first..none", "--all..first"})
    EXPECT_FALSE(with_commits(tree(), range).ok()) << range;
}

}  // namespace
}  // namespace e4r::guest
