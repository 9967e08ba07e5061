// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/overlay.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "guest/tree_files.h"
#include "support/process.h"
#include "util/file.h"

namespace fs = std::filesystem;

namespace e4r::guest {
namespace {

class OverlayTest : public TreeTest {
 protected:
  void make_tree(const std::string& version = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n") {
    write("Makefile", version + "EXTRAVERSION = -rc1\n");
    write("fs/ext4/ext4.h", kStockCounters);
    write("fs/ext4/mballoc.c", "int the_tree_s;\n");
    write("fs/ext4/super.c", "");
    write("fs/xfs/xfs.c", "");
    write("kernel/fork.c", "");
  }
  std::string refused() {
    const auto tree = look_at_tree(tree_);
    return tree.ok() ? "" : tree.error().message;
  }
  std::string listing() {
    std::string out;
    for (const auto& entry : fs::recursive_directory_iterator(tree_))
      out += entry.path().string() + '\n';
    return out;
  }
};

TEST_F(OverlayTest, IsTheTreeWithTheDriver) {
  make_tree();
  const std::string before = listing();
  const auto tree = look_at_tree(tree_);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->version, "6.12.3-rc1");
  const Status made = make_overlay(*tree, overlay_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*read_file(overlay_ + "/fs/ext4/mballoc-tree.c"), "int the_tree_s;\n");
  EXPECT_NE(read_file(overlay_ + "/fs/ext4/mballoc.c")->find("mballoc-tree.c"), std::string::npos);
  EXPECT_NE(read_file(overlay_ + "/fs/ext4/e4replay-driver.c")->find("e4r_init"),
            std::string::npos);
  for (const char* same : {"Makefile", "fs/xfs/xfs.c", "fs/ext4/super.c", "kernel/fork.c"})
    EXPECT_TRUE(fs::equivalent(tree_ + "/" + same, overlay_ + "/" + same)) << same;
  EXPECT_EQ(listing(), before);
}

TEST_F(OverlayTest, SaysWhatTheTreeCallsWhatTheDriverReads) {
  const auto names = [&] {
    const Status made = make_overlay(*look_at_tree(tree_), overlay_);
    return made.ok() ? *read_file(overlay_ + "/fs/ext4/e4replay-tree.h") : made.error().message;
  };
  make_tree();
  EXPECT_EQ(names().find("#define"), std::string::npos);
  write("fs/ext4/mballoc.h", "\text4_grpblk_t ac_orig_goal_len;\n");
  write("fs/ext4/ext4.h",
        "\tint others_s_bal_cX_hits[4];\n\tatomic64_t s_bal_cr_groups_considered[NUM];\n"
        "\tatomic64_t s_bal_cr_hits[NUM];\n");
  EXPECT_NE(names().find("#define s_bal_cX_groups_considered s_bal_cr_groups_considered\n"
                         "#define s_bal_cX_hits s_bal_cr_hits\n#define E4R_REMEMBERS_GOAL\n"),
            std::string::npos)
      << names();
  write("fs/ext4/ext4.h", "\tatomic64_t s_bal_cX_groups_considered[4];\n");
  EXPECT_NE(names().find("has no array s_bal_cX_hits"), std::string::npos) << names();
  // Either of two names is enough, and 6.12 has both. A tree that has neither must be refused.
  write("fs/ext4/ext4.h", "int others;\n");
  EXPECT_NE(names().find("has no array s_bal_cX_groups_considered"), std::string::npos) << names();
}

// Kernels before 5.15 lack some functions that the driver uses.
TEST_F(OverlayTest, SaysWhatTheTreeLacks) {
  make_tree();
  const auto says = [&](const std::string& header, std::string_view macro) {
    write("fs/ext4/ext4.h", header);
    const Status made = make_overlay(*look_at_tree(tree_), overlay_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    const auto names = read_file(overlay_ + "/fs/ext4/e4replay-tree.h");
    return names.ok() && names->find(fmt::format("#define {}\n", macro)) != std::string::npos;
  };
  const std::string stock = kStockCounters;
  EXPECT_FALSE(says(stock, "E4R_COUNTS_NO_GROUPS"));
  EXPECT_FALSE(says(stock, "E4R_JOURNAL_TRIGGERS"));
  EXPECT_TRUE(says(stock + "\tEXT4_JTR_NONE\n", "E4R_JOURNAL_TRIGGERS"));
  const std::string discard = "extern void ext4_discard_preallocations(struct inode *";
  EXPECT_FALSE(says(stock + discard + ");\n", "E4R_DISCARDS_SOME"));
  EXPECT_TRUE(says(stock + discard + ", unsigned int);\n", "E4R_DISCARDS_SOME"));
  EXPECT_FALSE(says(stock + "\tunsigned long s_mb_last_group;\n", "E4R_STREAMS_BY_INODE"));
  EXPECT_TRUE(says(stock + "\text4_group_t *s_mb_last_groups;\n", "E4R_STREAMS_BY_INODE"));
  EXPECT_FALSE(says(stock + "\tstruct list_head s_freed_data_list;\n", "E4R_FREED_LISTS"));
  EXPECT_TRUE(says(stock + "\tstruct list_head s_freed_data_list[2];\n", "E4R_FREED_LISTS"));
  EXPECT_FALSE(says(stock, "E4R_COUNTS_PREALLOCS"));
  EXPECT_TRUE(says(stock + "\tatomic_t i_prealloc_active;\n", "E4R_COUNTS_PREALLOCS"));
  const std::string sets = "\tstruct xarray *s_mb_largest_free_orders, *s_mb_avg_fragment_size;\n";
  EXPECT_FALSE(says(stock + sets, "E4R_GROUP_LISTS"));
  EXPECT_FALSE(says(stock + sets, "E4R_AVERAGE_LISTS"));
  EXPECT_TRUE(says(stock + "\tstruct list_head *s_mb_largest_free_orders;\n", "E4R_GROUP_LISTS"));
  EXPECT_TRUE(says(stock + "\tstruct list_head *s_mb_avg_fragment_size;\n", "E4R_AVERAGE_LISTS"));
  EXPECT_FALSE(says(stock, "E4R_PREALLOC_TREES"));
  write("fs/ext4/mballoc.h", "\t\tstruct rb_node inode_node;\n");
  EXPECT_TRUE(says(stock, "E4R_PREALLOC_TREES"));
  make_tree("VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 301\n");
  EXPECT_TRUE(says("int others;\n", "E4R_COUNTS_NO_GROUPS"));
}

TEST_F(OverlayTest, SaysWhichCommitTheTreeIsAt) {
  make_tree();
  EXPECT_EQ(look_at_tree(tree_)->commit, "") << "git knows nothing of it";
  const auto git = [&](std::vector<std::string> words) {
    std::vector<std::string> all = {"git", "-C", tree_, "-c", "user.name=a", "-c", "user.email=b"};
    all.insert(all.end(), words.begin(), words.end());
    return test::run(all);
  };
  ASSERT_EQ(test::run({"git", "init", "-q", tree_}).status, 0);
  EXPECT_EQ(look_at_tree(tree_)->commit, "") << "nothing is committed";
  ASSERT_EQ(git({"add", "."}).status, 0);
  ASSERT_EQ(git({"commit", "-q", "-m", "all"}).status, 0);
  std::string head = git({"rev-parse", "HEAD"}).out;
  head.pop_back();
  const auto tree = look_at_tree(tree_);
  EXPECT_EQ(tree->commit, head);
  EXPECT_FALSE(tree->dirty);
  write("fs/ext4/notes.txt", "nobody follows this");
  EXPECT_FALSE(look_at_tree(tree_)->dirty);
  write("fs/ext4/mballoc.c", "int mine;\n");
  EXPECT_TRUE(look_at_tree(tree_)->dirty);
  ASSERT_TRUE(make_overlay(*look_at_tree(tree_), overlay_).ok());
  EXPECT_NE(read_file(overlay_ + "/fs/ext4/e4replay-tree.h")
                ->find("#define E4R_SOURCE \" commit=" + head + " dirty=1\""),
            std::string::npos);
  // A tree inside another repository has no commit of its own.
  fs::rename(tree_, dir_.file("outer"));
  tree_ = dir_.file("outer/linux");
  make_tree();
  EXPECT_EQ(look_at_tree(tree_)->commit, "");
}

TEST_F(OverlayTest, SumsAreTheDriversInEitherWay) {
  const std::string header = overlay_ + "/fs/ext4/ext4.h";
  const auto made = [&] { return make_overlay(*look_at_tree(tree_), overlay_).ok(); };
  make_tree();
  ASSERT_TRUE(made());
  EXPECT_NE(read_file(header)->find("#define crc32c e4r_crc32c\n#include \"ext4-tree.h\""),
            std::string::npos);
  EXPECT_EQ(*read_file(overlay_ + "/fs/ext4/ext4-tree.h"), kStockCounters);
  const std::string by_crypto = std::string(kStockCounters) + "\tvoid *s_chksum_driver;\n";
  write("fs/ext4/ext4.h", by_crypto);
  ASSERT_TRUE(made());
  EXPECT_EQ(fs::read_symlink(header), fs::canonical(tree_) / "fs/ext4/ext4.h");
  EXPECT_NE(read_file(overlay_ + "/fs/ext4/e4replay-tree.h")->find("E4R_SUMS_BY_CRYPTO"),
            std::string::npos);
  write("fs/ext4/ext4.h", kStockCounters);
  ASSERT_TRUE(made());
  EXPECT_FALSE(fs::is_symlink(header));
  EXPECT_EQ(*read_file(tree_ + "/fs/ext4/ext4.h"), kStockCounters);
}

TEST_F(OverlayTest, WhatHasNotChangedKeepsItsTime) {
  make_tree();
  ASSERT_TRUE(make_overlay(*look_at_tree(tree_), overlay_).ok());
  const std::string ours = overlay_ + "/fs/ext4/e4replay-driver.c";
  const auto past = fs::last_write_time(ours) - std::chrono::hours(1);
  fs::last_write_time(ours, past);
  fs::remove(tree_ + "/fs/ext4/super.c");
  write("fs/ext4/new.c", "");
  ASSERT_TRUE(make_overlay(*look_at_tree(tree_), overlay_).ok());
  EXPECT_EQ(fs::last_write_time(ours), past);
  EXPECT_FALSE(fs::is_symlink(overlay_ + "/fs/ext4/super.c"));
  EXPECT_TRUE(fs::exists(overlay_ + "/fs/ext4/new.c"));
}

TEST_F(OverlayTest, ObjectsAmongTheSourcesStayOut) {
  make_tree();
  write(".gitignore", "*.o\n.config\n");
  write(".config", "");
  write("kernel/fork.o", "");
  const auto without_git = make_overlay(*look_at_tree(tree_), overlay_);
  ASSERT_FALSE(without_git.ok());
  EXPECT_NE(without_git.error().message.find("make mrproper"), std::string::npos);
  ASSERT_EQ(test::run({"git", "init", "-q", tree_}).status, 0);
  const auto tree = look_at_tree(tree_);
  ASSERT_TRUE(tree.ok());
  EXPECT_TRUE(tree->built_in);
  const Status made = make_overlay(*tree, overlay_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(fs::exists(overlay_ + "/kernel/fork.c"));
  EXPECT_FALSE(fs::exists(overlay_ + "/kernel/fork.o"));
  EXPECT_FALSE(fs::exists(overlay_ + "/.config"));
  EXPECT_EQ(*read_file(overlay_ + "/fs/ext4/mballoc-tree.c"), "int the_tree_s;\n");
}

TEST_F(OverlayTest, OtherDirectoriesAreRefused) {
  EXPECT_NE(refused().find("No such file"), std::string::npos);
  fs::create_directories(tree_);
  EXPECT_NE(refused().find("is not a kernel tree"), std::string::npos);
  make_tree("VERSION = 4\nPATCHLEVEL = 19\nSUBLEVEL = 325\n");
  EXPECT_NE(refused().find("Linux 4.19.325-rc1; the driver is for 5.4 and later"),
            std::string::npos);
  make_tree("VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 301\n");
  EXPECT_EQ(refused(), "");
  make_tree("VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 265\n");
  EXPECT_EQ(refused(), "");
  make_tree("VERSION = \n");
  EXPECT_NE(refused().find("does not say which version"), std::string::npos);
  make_tree();
  fs::remove(tree_ + "/fs/ext4/mballoc.c");
  EXPECT_NE(refused().find("has no fs/ext4/mballoc.c"), std::string::npos);
}

TEST_F(OverlayTest, ADirectoryIsOneTrees) {
  make_tree();
  const auto tree = look_at_tree(tree_);
  ASSERT_TRUE(tree.ok());
  fs::create_directories(overlay_);
  EXPECT_TRUE(claim_directory(*tree, overlay_).ok());
  EXPECT_TRUE(claim_directory(*tree, overlay_).ok());
  Tree other = *tree;
  other.path += "-mine";
  const Status refused = claim_directory(other, overlay_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another tree was built"), std::string::npos);
}

TEST_F(OverlayTest, ATreeOfOpenWrtGetsTheNetwork) {
  make_tree();
  const std::string config = dir_.file("config");
  const auto has_network = [&] {
    EXPECT_TRUE(write_config(*look_at_tree(tree_), config).ok());
    return read_file(config)->find("\nCONFIG_NET=y\n") != std::string::npos;
  };
  EXPECT_FALSE(has_network());
  write("lib/kobject_uevent.c", "int broadcast_uevent(struct sk_buff *skb);\n");
  EXPECT_TRUE(has_network());
}

TEST_F(OverlayTest, AConfigurationThatWasNotTaken) {
  const std::string config = dir_.file("config");
  make_tree();
  ASSERT_TRUE(write_config(*look_at_tree(tree_), config).ok());
  const std::string all = *read_file(config);
  EXPECT_TRUE(check_config(config).ok());
  std::string without = all;
  without.replace(without.find("CONFIG_EXT4_FS=y"), 16, "# nothing here..");
  std::ofstream(config) << without;
  const Status refused = check_config(config);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("CONFIG_EXT4_FS=y"), std::string::npos);
}

}  // namespace
}  // namespace e4r::guest
