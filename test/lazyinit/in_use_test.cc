// SPDX-License-Identifier: GPL-2.0-or-later
// Tests concurrent runs of tune2fs-lazy, and runs on file systems in use.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>

#include "lazyinit/locked_elsewhere.h"
#include "lazyinit/loop_device.h"
#include "lazyinit/mount.h"
#include "lazyinit/tool.h"
#include "util/fd.h"

namespace e4r::test {
namespace {

class InUse : public ToolTest {
 protected:
  // Runs two commands at once. One must succeed. The other must either wait and then succeed, or
  // fail and name the process that holds the image.
  void run_pair(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    auto first = std::async(std::launch::async, [&] { return tool(a); });
    const Outcome second = tool(b);
    for (const Outcome& outcome : {first.get(), second}) {
      refused_ += outcome.status == 1 &&
                  outcome.err.find("in use: process ") != std::string::npos &&
                  outcome.err.find("tune2fs-lazy ") != std::string::npos;
      done_ += outcome.status == 0;
      others_ += outcome.err;
    }
  }
  void expect_whole(const std::string& path) {
    expect_clean(path);
    const Outcome dump = run({"dumpe2fs", path});
    EXPECT_EQ(dump.status, 0);
    EXPECT_EQ(dump.out.find("EXPECTED"), std::string::npos) << "a wrong checksum";
  }

  int done_ = 0;
  int refused_ = 0;
  std::string others_;
};

TEST_F(InUse, EnableAndFinishTakeTurns) {
  make("uninit_bg");
  fill_unused(path_, FillFrom::first_unused_inode, FillWith::random);
  const std::string link = file("link");
  std::filesystem::create_symlink(path_, link);
  const std::string fresh = copy("fresh");
  for (int i = 0; i < 30; ++i) {
    copy_sparse(fresh, path_);
    run_pair({"enable", "--feature", "metadata_csum", path_}, {"finish", link});
    expect_whole(path_);
  }
  EXPECT_GE(done_, 30);
  EXPECT_EQ(done_ + refused_, 60) << others_;
}

TEST_F(InUse, DisableAndEnableTakeTurns) {
  make("default_1k");
  const std::string fresh = copy("fresh");
  const std::string other = file("other");
  for (int i = 0; i < 30; ++i) {
    copy_sparse(fresh, path_);
    std::filesystem::remove(other);
    std::filesystem::create_hard_link(path_, other);
    run_pair({"disable", path_}, {"enable", "--feature", "metadata_csum", other});
    expect_whole(path_);
  }
  EXPECT_GE(done_, 30);
  EXPECT_EQ(done_ + refused_, 60) << others_;
}

TEST_F(InUse, TheHolderIsNamed) {
  make("default_1k");
  const std::uint64_t hash = fingerprint(path_);
  for (const auto as : {LockedElsewhere::As::flock, LockedElsewhere::As::qemu}) {
    const LockedElsewhere holder(path_, as);
    const std::string who = fmt::format("{} is in use: process {} (", path_, holder.pid());
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"finish"},
                                               {"rearm"},
                                               {"verify", "--fix"},
                                               {"set", "noinit_itable"},
                                               {"enable"},
                                               {"disable"}}) {
      std::vector<std::string> words = command;
      words.push_back(path_);
      expect_status(tool(words), 1, who);
    }
    expect_done(tool({"finish", "--dry-run", path_}));
    expect_done(tool({"status", path_}));
    EXPECT_EQ(fingerprint(path_), hash);
  }
}

// The caller locks the image with flock(1) in one of three ways: tune2fs-lazy inherits the lock,
// only the flock process holds it, or a shell still holds it after flock has ended.
TEST_F(InUse, WhatACallerLockedIsLockedForUs) {
  make("default_1k");
  expect_done(run({"flock", path_, TUNE2FS_LAZY, "finish", path_}));
  expect_done(run({"flock", "--close", path_, TUNE2FS_LAZY, "rearm", path_}));
  expect_done(
      run({"bash", "-c", "exec 9<\"$0\"; flock 9; \"$@\"", path_, TUNE2FS_LAZY, "finish", path_}));
  // A shared lock of the caller is not enough, because other processes can share it.
  expect_status(run({"flock", "--shared", path_, TUNE2FS_LAZY, "rearm", path_}), 1,
                "in use: process ");
  const Fd ours(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(ours.get(), LOCK_EX), 0);
  expect_done(tool({"rearm", path_}));
}

// Two commands that inherit the same lock must still run one after the other.
TEST_F(InUse, TwoCommandsUnderOneLockTakeTurns) {
  make("default_1k");
  const std::string fresh = copy("fresh");
  const Fd ours(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(ours.get(), LOCK_EX), 0);
  for (int i = 0; i < 5; ++i) {
    run_pair({"finish", path_}, {"rearm", path_});
    expect_whole(path_);
    std::ofstream(path_, std::ios::binary | std::ios::in) << std::ifstream(fresh).rdbuf();
  }
  EXPECT_GE(done_, 5);
  EXPECT_EQ(done_ + refused_, 10) << others_;
}

// If tune2fs-lazy is killed, the tune2fs that it runs must still hold the lock.
TEST_F(InUse, TheLockIsTheChildsToo) {
  make("default_1k");
  const std::string bin = file("bin");
  std::filesystem::create_directory(bin);
  std::ofstream(bin + "/tune2fs") << "#!/bin/sh\n"
                                  << "kill -9 $PPID; : >" << file("begun") << "\n"
                                  << "while [ ! -e " << file("end") << " ]; do sleep 0.05; done\n";
  std::filesystem::permissions(bin + "/tune2fs", std::filesystem::perms::owner_all);
  EXPECT_EQ(run({"env", "PATH=" + bin + ":" + std::getenv("PATH"), TUNE2FS_LAZY, "disable", path_})
                .status,
            128 + 9);
  while (!std::filesystem::exists(file("begun"))) ::usleep(10000);
  expect_status(tool({"finish", path_}), 1, "in use: ");
  std::ofstream(file("end")) << "now";
  Outcome outcome;
  do outcome = tool({"finish", path_});
  while (outcome.status == 1 && outcome.err.find("in use: ") != std::string::npos);
  expect_done(outcome);
}

const std::vector<std::vector<std::string>>& commands_refused_in_use() {
  static const std::vector<std::vector<std::string>> kAll = {
      {"finish"},         {"finish", "--dry-run"},
      {"rearm"},          {"verify", "--fix=zero"},
      {"set", "default"}, {"enable"},
      {"disable"},        {"disable", "--dry-run"}};
  return kAll;
}

class InUseOnLoop : public InUse {
 protected:
  void expect_all_refused(const std::string& image, const std::string& why) {
    for (const auto& command : commands_refused_in_use()) {
      std::vector<std::string> words = command;
      words.push_back(image);
      const Outcome outcome = tool(words);
      SCOPED_TRACE(command.front());
      expect_status(outcome, 1, "in use");
      EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("e2fsck"), std::string::npos) << outcome.err;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
  }
};

// Nothing in this namespace, such as a path or /proc/self/mounts, shows the mount.
TEST_F(InUseOnLoop, MountedInAnotherNamespace) {
  make("default_4k");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  std::filesystem::create_directory(file("mnt"));
  const MountsLock lock(MountsLock::How::alone);
  auto elsewhere = std::async(std::launch::async, [&] {
    return run({"unshare", "--mount", "sh", "-c",
                "mount -o noinit_itable " + loop.path() + " " + file("mnt") + " || exit 3; : >" +
                    file("mounted") + "; while [ ! -e " + file("end") +
                    " ]; do sleep 0.05; done; " + "echo text >" + file("mnt") + "/new && umount " +
                    file("mnt")});
  });
  while (!std::filesystem::exists(file("mounted")) &&
         elsewhere.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
  }
  const bool mounted = std::filesystem::exists(file("mounted"));
  if (mounted) {
    expect_all_refused(loop.path(), "in another mount namespace");
    expect_all_refused(path_, "by the loop device " + loop.path());
    expect_status(tool({"status", loop.path()}), 0, "is in use");
    const LoopDevice beside(path_);
    EXPECT_NE(beside.path(), loop.path());
    expect_all_refused(beside.path(), "by the loop device " + loop.path());
  }
  std::ofstream(file("end")) << "now";
  const Outcome outcome = elsewhere.get();
  if (!mounted) GTEST_SKIP() << "mounting is not permitted: " << outcome.err;
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_clean(path_);
}

TEST_F(InUseOnLoop, TheFileBehindADevice) {
  make("default_1k");
  const std::string other = file("other");
  std::filesystem::create_hard_link(path_, other);
  {
    const LoopDevice loop(path_);
    if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
    expect_all_refused(path_, "losetup -d " + loop.path());
    expect_all_refused(other, "losetup -d " + loop.path());
    expect_done(tool({"rearm", loop.path()}));
  }
  expect_done(tool({"finish", path_}));
  expect_clean(path_);
}

// The device has two device nodes.
TEST_F(InUseOnLoop, TheLockIsTheDevicesAndNotTheNodes) {
  make("default_1k");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  const std::string node = file("node");
  const std::string minor = loop.path().substr(std::string("/dev/loop").size());
  ASSERT_EQ(run({"mknod", node, "b", "7", minor}).status, 0);
  const LockedElsewhere holder(loop.path(), LockedElsewhere::As::flock);
  expect_status(tool({"finish", node}), 1, fmt::format("process {} (", holder.pid()));
}

// A lock on the disk also locks its partitions, as systemd expects.
TEST_F(InUseOnLoop, TheLockIsTheWholeDisksToo) {
  make("default_1k");
  const std::string disk = file("disk");
  ASSERT_EQ(run({"cp", "--sparse=always", path_, disk}).status, 0);
  const LoopDevice loop(disk);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  const std::string name = loop.path().substr(std::string("/dev/").size());
  const std::string sectors = std::to_string(std::filesystem::file_size(disk) / 512);
  if (run({"addpart", loop.path(), "1", "0", sectors}).status != 0)
    GTEST_SKIP() << "making a partition is not permitted";
  const Outcome number = run({"cat", "/sys/block/" + name + "/" + name + "p1/dev"});
  const std::size_t colon = number.out.find(':');
  const std::string node = file("partition");
  ASSERT_EQ(run({"mknod", node, "b", number.out.substr(0, colon),
                 number.out.substr(colon + 1, number.out.find('\n') - colon - 1)})
                .status,
            0);
  {
    const LockedElsewhere holder(loop.path(), LockedElsewhere::As::flock);
    expect_status(tool({"rearm", node}), 1,
                  fmt::format("{} is in use: process {} (", node, holder.pid()));
  }
  expect_done(run({"flock", loop.path(), TUNE2FS_LAZY, "rearm", node}));
  expect_done(tool({"finish", node}));
  EXPECT_EQ(run({"delpart", loop.path(), "1"}).status, 0);
}

}  // namespace
}  // namespace e4r::test
