// SPDX-License-Identifier: GPL-2.0-or-later
// Tests tune2fs-lazy on mounted file systems, and on tables that the kernel leaves partly unzeroed.
#include <ext2fs/ext2_fs.h>

#include "lazyinit/loop_device.h"
#include "lazyinit/mount.h"
#include "lazyinit/tool.h"

namespace e4r::test {
namespace {

class Mounted : public ToolTest {
 protected:
  // Returns the line of /proc/self/mountinfo with the options of the mount and of the file system,
  // without numbers that a remount may change.
  [[nodiscard]] std::string options() const {
    const Outcome found = run({"grep", " " + file("mnt") + " ", "/proc/self/mountinfo"});
    return found.out;
  }
};

TEST_F(Mounted, FinishLetsTheKernelDoItAndPutsTheOptionBack) {
  for (const char* option : {"noinit_itable", "init_itable=77"}) {
    SCOPED_TRACE(option);
    make("default_4k");
    fill_unused(path_, FillFrom::first_unused_block, FillWith::random);
    {
      const LoopDevice loop(path_);
      if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
      Mount mount(loop.path(), file("mnt"), std::string("noatime,nosuid,") + option);
      if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
      const std::string before = options();
      ASSERT_NE(before.find(option), std::string::npos);
      expect_status(tool({"finish", loop.path(), "--probe"}), 1,
                    "the kernel does not support --probe");
      expect_status(tool({"finish", loop.path(), "--dry-run"}), 0, "would have remounted");
      EXPECT_EQ(options(), before);
      expect_status(tool({"finish", loop.path()}), 0, std::string("mounted with ") + option);
      EXPECT_EQ(options(), before);
      expect_status(tool({"finish", loop.path()}), 0, "initialised already");
      mount.unmount();
    }
    EXPECT_TRUE(groups_not_zero(path_).empty());
    for (const ReferenceGroup& group : reference_groups(path_))
      EXPECT_NE(group.flags & EXT2_BG_INODE_ZEROED, 0u);
    expect_clean(path_);
  }
}

// If `finish` is stopped before the kernel's thread has zeroed all tables, it must still restore
// the mount option. A large multiplier would make this thread sleep for other tests' mounts too.
TEST_F(Mounted, FinishThatIsStoppedPutsTheOptionBack) {
  make("default_1k");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  const Mount mount(loop.path(), file("mnt"), "noinit_itable");
  if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
  const std::string before = options();
  const Outcome stopped = run({"bash", "-c",
                               "\"$@\" & pid=$!\n"
                               "until grep -q init_itable=100 /proc/self/mountinfo; do\n"
                               "  kill -0 $pid || exit 9; sleep 0.01\n"
                               "done\n"
                               "kill -INT $pid; wait $pid",
                               "bash", TUNE2FS_LAZY, "finish", loop.path(), "--mult", "100"});
  EXPECT_EQ(stopped.status, 1) << stopped.out << stopped.err;
  EXPECT_NE(stopped.out.find("mounted with noinit_itable again"), std::string::npos)
      << stopped.out << stopped.err;
  EXPECT_EQ(options(), before);
}

TEST_F(Mounted, FinishRefusesAMountForReading) {
  make("default_1k");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  const Mount mount(loop.path(), file("mnt"), "ro");
  if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
  expect_status(tool({"finish", loop.path()}), 1, "is mounted read-only at " + file("mnt"));
}

TEST_F(Mounted, WatchMeasuresUntilNothingIsLeft) {
  make("default_1k");
  expect_status(tool({"status", path_, "--watch"}), 1, "not mounted");
  expect_status(tool({"status", path_, "--watch=0"}), 2, "give the seconds");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  expect_status(tool({"status", loop.path(), "--watch"}), 1, "is not mounted as ext4");
  {
    const Mount mount(loop.path(), file("mnt"), "noinit_itable");
    if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
    expect_status(tool({"status", loop.path(), "--watch"}), 1, "the kernel's thread does nothing");
  }
  const Mount mount(loop.path(), file("mnt"), "init_itable=0");
  const Outcome watched = tool({"status", loop.path(), "--watch=1"});
  expect_status(watched, 0, "with init_itable=0");
  const std::string last = watched.out.substr(watched.out.rfind('\n', watched.out.size() - 2) + 1);
  EXPECT_TRUE(last.starts_with("0 groups with 0 B left")) << watched.out;
}

// Tools other than mke2fs make images whose tables end within a block, and e2fsck accepts them.
// Kernels up to at least 6.18 flag these tables as zeroed, but do not zero their last block.
TEST_F(Mounted, TablesThatEndWithinABlockAreWarnedOf) {
  make("default_4k");
  ASSERT_EQ(run({TAKE_INODES, path_, "8"}).status, 0);
  fill_unused(path_, FillFrom::first_unused_block, FillWith::random);
  expect_clean(path_);
  expect_status(tool({"status", path_}), 0, "end within a block");
  expect_status(tool({"verify", path_}), 0, "end within a block");
  const std::string other = copy("other");
  // The kernel reports an error for a group without unused inodes. This image has such a group.
  ASSERT_EQ(run({TAKE_INODES, other, "0"}).status, 0);
  expect_status(tool({"status", other}), 0, "EXT4-fs error");
  {
    const LoopDevice loop(path_);
    if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
    const Mount mount(loop.path(), file("mnt"), "noinit_itable");
    if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
    expect_status(tool({"finish", loop.path()}), 1, "the kernel would not zero that block");
  }
  expect_done(tool({"finish", path_}));
  EXPECT_TRUE(groups_not_zero(path_).empty());
  expect_status(tool({"verify", path_}), 0, ": 0 of ");
  expect_clean(path_);
}

}  // namespace
}  // namespace e4r::test
