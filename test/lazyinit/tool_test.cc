// SPDX-License-Identifier: GPL-2.0-or-later
// Tests refusals, damaged images, interruption by signals, undo, and real mounts.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "lazyinit/loop_device.h"
#include "lazyinit/mount.h"
#include "lazyinit/tool.h"
#include "support/ext2_images.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

const std::vector<std::vector<std::string>>& writing_commands() {
  static const std::vector<std::vector<std::string>> kAll = {{"finish"},
                                                             {"rearm"},
                                                             {"verify", "--fix=zero"},
                                                             {"set", "init_itable=3"},
                                                             {"enable", "--probe"},
                                                             {"disable"}};
  return kAll;
}

std::vector<std::string> on(std::vector<std::string> command, const std::string& image) {
  command.push_back(image);
  return command;
}

class Tool : public ToolTest {};

TEST_F(Tool, WrongCommandLines) {
  make("default_1k");
  const std::uint64_t hash = fingerprint(path_);
  expect_status(tool({"finnish", path_}), 2, "is not a subcommand: choose from status, finish");
  expect_status(tool({"-l", path_}), 2, "run tune2fs for them");
  expect_status(tool({"-O", "^metadata_csum", path_}), 2, "run tune2fs for them");
  expect_status(tool({"finish"}), 2, "image is required");
  expect_status(tool({"finish", path_, "--mult", "x"}), 2, "whole number");
  expect_status(tool({"finish", path_, "--max-rate", "0"}), 2, "would never end");
  expect_status(tool({"finish", path_, "--mult", "2", "--max-rate", "1M"}), 2, "excludes");
  expect_status(tool({"rearm", path_, "--groups", "7-3"}), 2, "--groups 7-3");
  expect_status(tool({"rearm", path_, "--groups", "0-999999"}), 2, "--groups 0-999999");
  expect_status(tool({"set", "init_itable=-1", path_}), 2, "whole number");
  expect_status(tool({"set", "init_itabel=1", path_}), 2, "noinit_itable or default");
  expect_status(tool({"enable", path_, "--feature", "quota"}), 2, "uninit_bg");
  expect_status(tool({"status", path_, "--rate", "fast"}), 2, "fast");
  expect_status(tool({"status", file("missing")}), 1, "No such file");
  expect_status(tool({"finish", dir_.path()}), 1, "neither a regular file");
  EXPECT_EQ(fingerprint(path_), hash);
}

TEST_F(Tool, RefusesToWriteToWhatIsNotAtRest) {
  const auto expect_refusals = [this](const std::string& text) {
    const std::uint64_t hash = fingerprint(path_);
    for (const auto& command : writing_commands()) {
      const auto outcome = tool(on(command, path_));
      EXPECT_EQ(outcome.status, 1) << command.front();
      EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
    EXPECT_EQ(fingerprint(path_), hash);
  };
  make("journal");
  ASSERT_EQ(run({"debugfs", "-w", "-R", "feature needs_recovery", path_}).status, 0);
  expect_refusals("run e2fsck");
  expect_status(tool({"status", path_}), 0, "journal has not been replayed");
  make("default_1k");
  ASSERT_EQ(run({"debugfs", "-w", "-R", "ssv state 3", path_}).status, 0);
  expect_refusals("errors on record");
  make("default_1k");
  edit_descriptor(path_, 1, false, [](DescriptorBytes d) { d.data[0x12] ^= 4; });
  expect_refusals("descriptor of group 1 has a wrong checksum");
  make("default_1k");
  write_at(path_, 1024 + 0x88, {'x'});
  expect_refusals("superblock");
}

TEST_F(Tool, RefusesBitmapsThatNobodyChecked) {
  make("uninit_bg");
  ASSERT_EQ(run({"debugfs", "-w", "-R", "ssv mtime 20300101000000", path_}).status, 0);
  expect_status(tool({"enable", path_}), 1, "run e2fsck -f");
  make("default_1k");
  ASSERT_EQ(run({"debugfs", "-w", "-R", "ssv mtime 20300101000000", path_}).status, 0);
  expect_status(tool({"disable", path_}), 1, "run e2fsck -f");
}

TEST_F(Tool, EnableRefusesCountsThatContradictTheBitmap) {
  make("no_checksums");
  ASSERT_EQ(run({"debugfs", "-w", "-R", "freei <11>", path_}).status, 0);
  edit_descriptor(path_, 0, true, [](DescriptorBytes d) { --d.data[0x0e]; });
  const std::uint64_t hash = fingerprint(path_);
  expect_status(tool({"enable", path_}), 1, "group 0:");
  EXPECT_EQ(fingerprint(path_), hash);
}

TEST_F(Tool, DisableRefusesABitmapThatIsDamagedBeforeItWrites) {
  make("default_1k");
  fill_unused(path_, FillFrom::first_unused_block);
  write_at(path_, bitmap_offset(path_, 0) + 100, {0x55});
  const std::uint64_t hash = fingerprint(path_);
  expect_status(tool({"disable", path_}), 1, "Block bitmap checksum does not match");
  EXPECT_EQ(fingerprint(path_), hash);
}

// Makes random changes to the superblock and descriptors, with and without corrected checksums. A
// command must either refuse the image, or leave it so that e2fsck reports the same as before.
TEST_F(Tool, DamagedImagesGetNoWorse) {
  const std::uint64_t seed = 5;
  RecordProperty("seed", std::to_string(seed));
  Rng rng(seed);
  unsigned refused = 0, done = 0;
  for (int round = 0; round < 60; ++round) {
    const char* shape = round % 2 == 0 ? "default_1k" : "inode_1024_uninit_bg";
    if (round < 2) {
      make_lazy_image(file(shape), lazy_shape(shape));
      fill_unused(file(shape), FillFrom::first_unused_block);
    }
    copy_sparse(file(shape), path_);
    static Rng* shared = nullptr;
    shared = &rng;
    edit_descriptor(path_, static_cast<std::uint32_t>(rng.below(8)), rng.below(4) != 0,
                    [](DescriptorBytes d) {
                      const auto at = shared->below(d.size);
                      d.data[at] = static_cast<unsigned char>(shared->next());
                    });
    const Fsck before = fsck(path_);
    const std::uint64_t hash = fingerprint(path_);
    const auto& command = writing_commands()[rng.below(4)];
    const auto outcome = tool(on(command, path_));
    SCOPED_TRACE("round " + std::to_string(round) + " " + command.front() + " " + outcome.err);
    if (outcome.status == 1) {
      EXPECT_EQ(fingerprint(path_), hash);
      ++refused;
      continue;
    }
    EXPECT_EQ(outcome.status, 0);
    ++done;
    const Fsck after = fsck(path_);
    EXPECT_EQ(after.status, before.status);
    EXPECT_EQ(after.text, before.text);
  }
  EXPECT_GT(refused, 10u);
  EXPECT_GT(done, 2u);
}

TEST_F(Tool, UndoBringsEverythingBack) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"uninit_bg", {"finish"}},
      {"uninit_bg", {"disable"}},
      {"default_1k", {"set", "init_itable=3"}},
      {"no_checksums", {"enable"}}};
  for (const auto& [shape, command] : cases) {
    SCOPED_TRACE(command.front());
    make(shape);
    fill_unused(path_, FillFrom::first_unused_inode);
    const std::uint64_t hash = fingerprint(path_);
    auto arguments = on(command, path_);
    arguments.insert(arguments.end(), {"--undo", file("undo")});
    expect_done(tool(arguments));
    EXPECT_NE(fingerprint(path_), hash);
    const auto undone = run({"e2undo", file("undo"), path_});
    EXPECT_EQ(undone.status, 0) << undone.err;
    EXPECT_EQ(fingerprint(path_), hash);
    std::filesystem::remove(file("undo"));
  }
}

TEST_F(Tool, UndoRefusesAFileThatIsThereAndWhatItCannotReach) {
  make("default_1k");
  const std::uint64_t hash = fingerprint(path_);
  std::ofstream(file("undo")) << "mine";
  expect_status(tool({"finish", path_, "--undo", file("undo")}), 1, "exists already");
  expect_status(tool({"disable", path_, "--undo", file("new")}), 1, "--undo does not cover");
  EXPECT_FALSE(std::filesystem::exists(file("new")));
  EXPECT_EQ(fingerprint(path_), hash);
}

TEST_F(Tool, SignalStopsAfterTheGroupAndTheRestIsDoneLater) {
  make("default_4k");
  fill_unused(path_, FillFrom::first_unused_block);
  // The run would take several seconds. The script waits until /proc shows that the program catches
  // the signal (bit 1 of SigCgt), and half a second longer, and then sends it.
  const auto stopped = run({"bash", "-c",
                            "\"$@\" & pid=$!\n"
                            "until (( 0x$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) & 2 )); do\n"
                            "  sleep 0.01\n"
                            "done\n"
                            "sleep 0.5; kill -INT $pid; wait $pid",
                            "bash", TUNE2FS_LAZY, "finish", path_, "--max-rate", "1M"});
  EXPECT_EQ(stopped.status, 1) << stopped.out << stopped.err;
  EXPECT_NE(stopped.out.find("run the same command again to continue"), std::string::npos)
      << stopped.out << stopped.err;
  const auto groups = reference_groups(path_);
  const auto zeroed = std::count_if(groups.begin(), groups.end(),
                                    [](const auto& group) { return (group.flags & 4) != 0; });
  EXPECT_LT(zeroed, static_cast<std::ptrdiff_t>(groups.size()));
  expect_clean(path_);
  expect_done(tool({"finish", path_}));
  EXPECT_TRUE(groups_not_zero(path_).empty());
  expect_clean(path_);
}

// If holes counted, zeroing the tables would take hours at this rate.
TEST_F(Tool, RateDoesNotCountHoles) {
  make("default_4k");
  expect_done(run({"timeout", "120", TUNE2FS_LAZY, "finish", path_, "--max-rate", "1K"}));
  EXPECT_TRUE(groups_not_zero(path_).empty());
}

TEST_F(Tool, KilledAtAnyInstantIsFinishedLater) {
  make("default_1k");
  fill_unused(path_, FillFrom::first_unused_block);
  const std::string fresh = copy("fresh");
  unsigned cut_short = 0;
  for (int i = 0; i < 25; ++i) {
    copy_sparse(fresh, path_);
    const std::string after = std::to_string(0.002 + i * 0.012);
    // With --foreground, timeout waits until the killed process has ended and dropped its locks.
    const auto killed = run({"timeout", "--foreground", "-s", "KILL", after, TUNE2FS_LAZY, "finish",
                             path_, "--max-rate", "16M", "--threads", "2"});
    cut_short += killed.status != 0;
    SCOPED_TRACE("killed after " + after + " s");
    expect_clean(path_);
    expect_done(tool({"verify", path_}));
    expect_done(tool({"finish", path_}));
    EXPECT_TRUE(groups_not_zero(path_).empty());
  }
  EXPECT_GT(cut_short, 5u);
}

TEST_F(Tool, MetadataCsumOverStaleTables) {
  make("uninit_bg");
  const std::string before = listing(path_);
  fill_unused(path_, FillFrom::first_unused_block, FillWith::random);
  expect_done(tool({"enable", path_, "--feature", "metadata_csum"}));
  EXPECT_NE(run({"dumpe2fs", "-h", path_}).out.find("metadata_csum"), std::string::npos);
  EXPECT_EQ(listing(path_), before);
  expect_clean(path_);
}

TEST_F(Tool, MetadataCsumNeedsAnOrphanFileThatIsOne) {
  make("orphan_file");
  // Change the last byte of the magic number, which is near the end of the file's first block.
  const Outcome where = run({"debugfs", "-R", "bmap <12> 0", path_});
  write_at(path_, std::stoull(where.out) * 1024 + 1024 - 5, {0x55});
  const std::uint64_t hash = fingerprint(path_);
  expect_status(tool({"disable", path_}), 1, "its orphan file, inode 12, is damaged");
  EXPECT_EQ(fingerprint(path_), hash);
}

TEST_F(Tool, EnableWithProbeFlagsWhatIsZero) {
  make("no_checksums");
  expect_done(tool({"enable", path_, "--probe"}));
  for (const ReferenceGroup& group : reference_groups(path_)) EXPECT_NE(group.flags & 4, 0u);
  expect_status(tool({"verify", path_}), 0, ": 0 of ");
  expect_clean(path_);
}

class OnLoop : public ToolTest {
 protected:
  // Uses inodes in all parts of the file system.
  void use_inodes() {
    const std::string at = file("mnt");
    for (int i = 0; i < 40; ++i) {
      std::filesystem::create_directory(at + "/d" + std::to_string(i));
      for (int j = 0; j < 25; ++j)
        std::ofstream(at + "/d" + std::to_string(i) + "/f" + std::to_string(j)) << i * j;
    }
  }
  // Lists a directory that use_inodes() does not change. Leaves out its parent, whose time changes.
  std::string listing() {
    std::istringstream lines(run({"debugfs", "-R", "ls -l /one", path_}).out);
    std::string out, line;
    while (std::getline(lines, line))
      if (!line.ends_with(" ..")) out += line + '\n';
    EXPECT_NE(out.find(" f11\n"), std::string::npos);
    return out;
  }
};

TEST_F(OnLoop, MountedIsLeftAlone) {
  make("default_4k");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  const Mount mount(loop.path(), file("mnt"), "noinit_itable");
  if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
  for (const auto& command : writing_commands())
    for (const std::string& image : {loop.path(), path_})
      if (command.front() != "finish" || image == path_)  // on a device, the kernel does this work
        expect_status(tool(on(command, image)), 1, "mounted");
  expect_status(tool({"status", loop.path()}), 0, "is mounted");
}

TEST_F(OnLoop, KernelGoesOnWithWhatEachCommandLeft) {
  const std::vector<std::vector<std::string>> scenarios = {
      {"finish"}, {"enable"}, {"disable"}, {"rearm"}, {"set", "init_itable=0"}};
  for (const char* shape : {"default_4k", "uninit_bg", "default_1k"}) {
    for (const auto& command : scenarios) {
      SCOPED_TRACE(std::string(shape) + " " + command.front());
      make(shape);
      fill_unused(path_, FillFrom::first_unused_inode, FillWith::random);
      const std::string before = listing();
      {
        const LoopDevice loop(path_);
        if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
        expect_done(tool(on(command, loop.path())));
        Mount mount(loop.path(), file("mnt"), "rw");
        if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
        use_inodes();
        mount.unmount();
      }
      expect_clean(path_);
      EXPECT_EQ(listing(), before);
    }
  }
}

// If the orphan file had a wrong checksum, the kernel would refuse to mount the file system.
TEST_F(OnLoop, KernelMountsAnOrphanFileWhoseChecksumsChange) {
  make("orphan_file");
  const std::string before = listing();
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"disable"}, {"enable", "--feature", "metadata_csum"}}) {
    SCOPED_TRACE(command.front());
    expect_done(tool(on(command, loop.path())));
    expect_clean(path_);
    Mount mount(loop.path(), file("mnt"), "rw");
    ASSERT_TRUE(mount.mounted());
    use_inodes();
    mount.unmount();
    expect_clean(path_);
    // The next command needs a file system that was checked after the mount. Timestamps show this
    // only if the check is in a later second.
    ASSERT_EQ(run({"e2fsck", "-fp", loop.path()}).status, 0);
  }
  EXPECT_EQ(listing(), before);
}

TEST_F(OnLoop, KernelDoesWhatVerifyGaveBack) {
  make("default_1k");
  expect_done(tool({"finish", path_}));
  fill_unused(path_, FillFrom::first_unused_block);
  expect_done(tool({"verify", "--fix", path_}));
  EXPECT_FALSE(groups_not_zero(path_).empty());
  {
    const LoopDevice loop(path_);
    if (loop.path().empty()) GTEST_SKIP() << "there is no loop device";
    Mount mount(loop.path(), file("mnt"), "init_itable=0");
    if (!mount.mounted()) GTEST_SKIP() << "mounting is not permitted";
    // The kernel's only thread starts this work late if it sleeps for another file system.
    while (tool({"status", loop.path()}).out.find("to zero   0 B") == std::string::npos)
      (void)run({"sleep", "0.2"});
    mount.unmount();
  }
  EXPECT_TRUE(groups_not_zero(path_).empty());
  expect_clean(path_);
}

}  // namespace
}  // namespace e4r::test
