// SPDX-License-Identifier: GPL-2.0-or-later
// Tests tune2fs-lazy on file systems that begin at an offset, that are given by label, or that are
// on storage where zeros may not last or that other hosts may use.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lazyinit/loop_device.h"
#include "lazyinit/tool.h"

namespace e4r::test {
namespace {

constexpr int kShift = 1 << 20;

class Places : public ToolTest {
 protected:
  // Makes a file that has the image at an offset. Returns its path.
  std::string shifted() {
    std::string name = file("shifted");
    std::ofstream(name, std::ios::binary) << std::string(kShift, 'x');
    std::ofstream(name, std::ios::binary | std::ios::app)
        << std::ifstream(path_, std::ios::binary).rdbuf();
    return name;
  }
};

TEST_F(Places, AtAnOffset) {
  make("default_1k");
  const std::string name = shifted();
  const std::string place = name + "?offset=" + std::to_string(kShift);
  expect_done(tool({"rearm", place}));
  expect_status(tool({"verify", place}), 0, "no flag can be false");
  expect_done(tool({"finish", place, "--undo", file("undo")}));
  expect_done(tool({"verify", place}));
  expect_clean(place);
  expect_status(tool({"status", name}), 1, name);
  expect_status(tool({"finish", name + "?offset=999999999999"}), 1, "the file ends at ");
  std::ifstream start(name, std::ios::binary);
  std::string before(kShift, ' ');
  start.read(before.data(), kShift);
  EXPECT_EQ(before, std::string(kShift, 'x'));
}

TEST_F(Places, AFileThatIsCalledSoIsMeantItself) {
  make("default_1k");
  const std::string name = file("image?offset=4096");
  std::filesystem::rename(path_, name);
  expect_done(tool({"status", name}));
}

TEST_F(Places, ByLabel) {
  make("default_1k");
  const std::string label = "e4r_" + std::to_string(::getpid());
  expect_done(run({"tune2fs", "-L", label, path_}));
  expect_status(tool({"status", "LABEL=" + label}), 1,
                "LABEL=" + label + ": no readable device has this label");
  const LoopDevice loop(path_);
  if (loop.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  expect_status(tool({"finish", "LABEL=" + label}), 0, loop.path());
}

TEST_F(Places, ProbingNeedsZerosThatLast) {
  make("default_1k");
  const LoopDevice below(path_);
  if (below.path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  const LoopDevice loop(below.path());
  if (loop.path().empty()) GTEST_SKIP() << "no loop device on a loop device";
  const std::string why = "leave out --probe, or add --trust-discard if zeros last on it";
  for (const char* command : {"finish", "enable"}) {
    expect_status(tool({command, loop.path(), "--probe"}), 1, why);
    expect_status(tool({command, loop.path(), "--probe", "--dry-run"}), 1, why);
  }
  expect_status(tool({"finish", loop.path(), "--trust-discard"}), 2, "--probe");
  expect_done(tool({"finish", loop.path(), "--probe", "--trust-discard"}));
  expect_done(run({"e2fsck", "-fn", loop.path()}));
}

TEST_F(Places, TablesGiveTheirBlocksBack) {
  make("default_1k");
  expect_done(tool({"rearm", path_}));
  const std::string other = file("other");
  expect_done(run({"cp", "--sparse=never", path_, other}));
  std::filesystem::copy_file(other, path_, std::filesystem::copy_options::overwrite_existing);
  const auto blocks = [](const std::string& path) {
    return std::stol(run({"stat", "-c", "%b", path}).out);
  };
  const long before = blocks(path_);
  expect_status(tool({"finish", path_, "--punch", "--dry-run"}), 0, "would have punched");
  EXPECT_EQ(blocks(path_), before);
  expect_status(tool({"finish", path_, "--punch"}), 0, "punched");
  EXPECT_LT(blocks(path_), before);
  expect_status(tool({"finish", path_}), 0, "initialised already");
  expect_status(tool({"finish", path_, "--punch"}), 0, "punched");
  expect_done(tool({"verify", path_}));
  expect_clean(path_);
  expect_status(tool({"finish", path_, "--punch", "--probe"}), 2, "--punch");

  expect_done(tool({"finish", other, "--punch", "--undo", file("undo")}));
  expect_done(tool({"verify", other}));
  expect_done(run({"e2undo", file("undo"), other}));
  expect_clean(other);
}

// A loop device on ext4 or xfs can free blocks of its file. A loop device on tmpfs cannot.
TEST_F(Places, ADeviceGivesItsBlocksBack) {
  make("default_1k");
  expect_done(tool({"rearm", path_}));
  const std::string backing =
      "punched.img";  // in this directory, because the temporary one may be on tmpfs
  expect_done(run({"cp", "--sparse=never", path_, backing}));
  const std::string before = run({"stat", "-c", "%b", backing}).out;
  {
    const LoopDevice loop(backing);
    if (loop.path().empty()) {
      std::filesystem::remove(backing);
      GTEST_SKIP() << "attaching a loop device is not permitted";
    }
    const auto punched = tool({"finish", loop.path(), "--punch"});
    if (punched.status == 0) {
      EXPECT_LT(std::stol(run({"stat", "-c", "%b", backing}).out), std::stol(before));
      expect_done(tool({"verify", loop.path()}));
    } else {
      expect_status(punched, 1,
                    "the device cannot release blocks so that they read as zeros (PUNCH_HOLE): "
                    "leave out --punch");
    }
    expect_clean(loop.path());
  }
  std::filesystem::remove(backing);
}

class MultipleMountProtection : public ToolTest {
 protected:
  void SetUp() override {
    make("default_1k");
    expect_done(run({"tune2fs", "-O", "mmp", path_}));
  }
};

TEST_F(MultipleMountProtection, IsKept) {
  expect_done(tool({"finish", path_}));
  expect_clean(path_);
  expect_done(tool({"verify", path_}));
  EXPECT_NE(run({"debugfs", "-R", "dump_mmp", path_}).out.find("sequence: ff4d4d50"),
            std::string::npos);
}

// The run is killed at its third sync: the first two write the MMP mark, and the third would be for
// the tables. No program can tell that the run has been killed, so the message asks the user to
// clear the mark.
TEST_F(MultipleMountProtection, StopsBesideAChecker) {
  const Outcome killed =
      run({"strace", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
           "inject=fdatasync:signal=KILL:when=3", TUNE2FS_LAZY, "finish", path_});
  ASSERT_EQ(killed.status, 128 + SIGKILL) << killed.err;
  const std::uint64_t before = fingerprint(path_);
  expect_status(tool({"finish", path_}), 1, "tune2fs -f -E clear_mmp");
  EXPECT_EQ(fingerprint(path_), before);
  expect_done(run({"tune2fs", "-f", "-E", "clear_mmp", path_}));
  expect_done(tool({"finish", path_}));
  expect_clean(path_);
}

}  // namespace
}  // namespace e4r::test
