// SPDX-License-Identifier: GPL-2.0-or-later
// Tests each output of each command on each kind of file. A command may only replace files that are
// meant as its output.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "lazyinit/loop_device.h"
#include "support/ext2_images.h"
#include "support/lazy_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"
#include "util/fd.h"
#include "util/file.h"

namespace e4r::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrace =
    "# tracer: nop\n"
    "  x-57 [000] ..... 1.0: ext4_request_blocks: dev 98,0 ino 13 flags HINT_DATA len 4 lblk 7 "
    "goal 100 lleft 6 lright 90 pleft 99 pright 200 \n";

class OutputsCommand : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  void SetUp() override {
    make_image(image_, 16u << 20, {"-t", "ext4", "-b", "1024"});
    std::ofstream(trace_) << kTrace;
    std::ofstream(file("run.mb_groups")) << "#group: none\n";
    ASSERT_EQ(e4replay({"trace", "convert", trace_, capture_, "--image", image_}).status, 0);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return dir_.file(name); }
  [[nodiscard]] static Outcome e4replay(Words words) {
    words.insert(words.begin(), E4REPLAY);
    return run(words);
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(dir_.path()), {});
  }

  // Makes another name for a file. It ends with the extension of a format.
  [[nodiscard]] std::string with_ending(const std::string& path, const std::string& ending) const {
    std::string link = file("ending" + ending);
    fs::remove(link);
    fs::create_symlink(path, link);
    return link;
  }

  // The next two functions return each command that has an output, with the option or operand that
  // names the output. The first is for outputs that are text, the second for images and other
  // binary files.
  [[nodiscard]] std::vector<Words> text_outputs(const std::string& out) const {
    return {{"freefrag", image_, "--json", out},
            {"info", capture_, "--json", out},
            {"trace", "info", trace_, "--json", out},
            {"shrinker", trace_, "--json", out},
            {"replay", capture_, "--json", out},
            {"replay", image_, trace_, "--html", out},
            {"replay", capture_, "--perfetto", out},
            {"replay", image_, trace_, "--perfetto", out},
            {"replay", capture_, "--decisions", with_ending(out, ".csv")},
            {"replay", image_, trace_, "--decisions", with_ending(out, ".csv")},
            {"verify", capture_, "--json", out},
            {"verify", image_, trace_, "--html", out},
            {"age", image_, "-o", file("aged"), "--json", out},
            {"age", image_, "-o", file("aged"), "--write-operations", out},
            {"sweep", capture_, "--html", out}};
  }
  [[nodiscard]] std::vector<Words> image_outputs(const std::string& out) const {
    return {{"age", "16M", "-o", out},
            {"replay", capture_, "-p", "legacy", "--write-image", out},
            {"replay", image_, trace_, "--decisions", with_ending(out, ".sqlite")},
            {"freefrag", capture_, "--extract-image", out},
            {"trace", "convert", capture_, file("made.e4t"), "--image", out}};
  }
  [[nodiscard]] std::vector<Words> all_outputs(const std::string& out) const {
    std::vector<Words> all = text_outputs(out);
    for (const Words& words : image_outputs(out)) all.push_back(words);
    return all;
  }

  // Expects that the command fails with one line that contains the reason, and writes no file.
  void expect_refused(const Words& words, const std::string& why) {
    const auto before = files();
    const Outcome outcome = e4replay(words);
    SCOPED_TRACE(fmt::format("{}", fmt::join(words, " ")));
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(files(), before);
  }

  TempDir dir_;
  const std::string image_ = file("start.img");
  const std::string trace_ = file("run.txt");
  const std::string capture_ = file("run.e4c");
};

TEST_F(OutputsCommand, NothingThatIsReadIsWritten) {
  const auto sums = [this] {
    return std::vector{fingerprint(image_), fingerprint(trace_), fingerprint(capture_)};
  };
  const auto before = sums();
  for (const std::string& input : {image_, trace_, capture_}) {
    fs::create_hard_link(input, file("hard"));
    fs::create_symlink(input, file("soft"));
    for (const std::string& name : {input, file("hard"), file("soft")})
      for (const Words& words : all_outputs(name))
        if (std::count(words.begin(), words.end() - 1, input) > 0)
          expect_refused(words, "the same command");
    fs::remove(file("hard"));
    fs::remove(file("soft"));
  }
  for (const char* beside : {"tunables", "mb_groups", "mb_stats"}) {
    const std::string companion = file(std::string("run.") + beside);
    std::ofstream(companion) << "noted";
    expect_refused({"verify", image_, trace_, "--json", companion}, "the same command");
    expect_refused({"replay", image_, trace_, "--json", companion}, "the same command");
    expect_refused({"trace", "info", trace_, "--json", companion}, "the same command");
  }
  EXPECT_EQ(sums(), before);
}

TEST_F(OutputsCommand, StandardInputIsAnInputToo) {
  const std::uint64_t before = fingerprint(trace_);
  for (const char* command : {"trace info - --json ", "trace info /dev/stdin --json "}) {
    const Outcome outcome =
        run({"sh", "-c", fmt::format("{} {} {} <{}", E4REPLAY, command, trace_, trace_)});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("which the same command reads"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(fingerprint(trace_), before);
  ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
  expect_refused({"trace", "info", file("fifo"), "--json", file("fifo")}, "the same command");
}

TEST_F(OutputsCommand, ConvertSaysFirstWhatItCannotWrite) {
  expect_refused({"trace", "convert", capture_, file("out.trace"), "--image", file("i")},
                 "name the output");
  expect_refused({"trace", "convert", trace_, trace_}, "the same command");
  expect_refused({"trace", "convert", trace_, file("none/out.e4t")}, "No such file");
  expect_refused({"trace", "cut", trace_, trace_}, "the same command");
  expect_refused({"trace", "convert", capture_, capture_}, "the same command");
  expect_refused({"trace", "convert", trace_, file("new.e4c"), "--image", file("new.e4c")},
                 "No such file");
  expect_refused({"trace", "convert", capture_, file("new.txt"), "--image", file("new.txt")},
                 "are the same file");
  expect_refused({"trace", "convert", capture_, file("new.txt"), "--image", file("new.tunables")},
                 "are the same file");
  expect_refused({"replay", capture_, "--json", file("x"), "--html", file("x")},
                 "are the same file");
  expect_refused({"replay", capture_, "--json", file("x.csv"), "--decisions", file("x.csv")},
                 "are the same file");
}

// The test uses copies of the machine's device nodes.
TEST_F(OutputsCommand, DeviceNodesStay) {
  const std::string null = file("null");
  const std::string disk = file("disk");
  if (run({"mknod", null, "c", "1", "3"}).status != 0)
    GTEST_SKIP() << "not allowed to make device nodes";
  ASSERT_EQ(run({"mknod", disk, "b", "7", "250"}).status, 0);
  for (const Words& words : all_outputs(disk)) expect_refused(words, "is a block device");
  for (const Words& words : image_outputs(null)) expect_refused(words, "needs a regular file");
  EXPECT_EQ(e4replay({"freefrag", image_, "--json", null}).status, 0);
  EXPECT_EQ(e4replay({"info", capture_, "--json", null}).status, 0);
  EXPECT_EQ(e4replay({"trace", "info", trace_, "--json", null}).status, 0);
  EXPECT_TRUE(fs::is_character_file(null));
  EXPECT_TRUE(fs::is_block_file(disk));
}

TEST_F(OutputsCommand, ALoopDeviceAndWhatIsBehindItStay) {
  const std::string behind = file("behind");
  make_image(behind, 8u << 20, {"-t", "ext4", "-b", "1024"});
  const LoopDevice loop(behind);
  if (loop.path().empty()) GTEST_SKIP() << "no loop device to be had";
  const std::uint64_t before = fingerprint(behind);
  for (const Words& words : all_outputs(loop.path())) expect_refused(words, "is a block device");
  for (const Words& words : all_outputs(behind))
    expect_refused(words, "is the backing file of " + loop.path());
  EXPECT_EQ(fingerprint(behind), before);
}

TEST_F(OutputsCommand, AFifoIsWrittenThroughAndNoImage) {
  const std::string fifo = file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { return read_file(fifo); });
  EXPECT_EQ(e4replay({"freefrag", image_, "--json", fifo}).status, 0);
  EXPECT_EQ(reader.get()->substr(0, 1), "{");
  EXPECT_TRUE(fs::is_fifo(fifo));
  for (const Words& words : image_outputs(fifo)) expect_refused(words, "needs a regular file");
  expect_refused({"freefrag", fifo}, "is neither a regular file nor a block device");
  expect_refused({"info", fifo}, "is not a regular file");
  expect_refused({"age", fifo, "-o", file("aged")}, "is neither a regular file nor a block device");
  expect_refused({"sweep", fifo}, "is not a regular file");
  expect_refused({"replay", fifo}, "not a capture");
  expect_refused({"sweep", dir_.path()}, "is a directory");
}

TEST_F(OutputsCommand, ALinkIsFollowed) {
  fs::create_symlink("target", file("link"));
  EXPECT_EQ(e4replay({"freefrag", image_, "--json", file("link")}).status, 0);
  EXPECT_EQ(e4replay({"freefrag", image_, "--extract-image", file("link")}).status, 0);
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(fingerprint(file("target")), fingerprint(image_));
}

TEST_F(OutputsCommand, ASweepsDirectoryHoldsNoTrap) {
  const std::string out = file("results");
  ASSERT_EQ(e4replay({"sweep", capture_, "-p", "legacy", "--force", "-o", out}).status, 0);
  fs::remove(out + "/points.csv");
  fs::create_symlink(capture_, out + "/points.csv");
  const std::uint64_t before = fingerprint(capture_);
  expect_refused({"sweep", capture_, "-p", "legacy", "--force", "-o", out, "--resume"},
                 "the same command");
  EXPECT_EQ(fingerprint(capture_), before);
  fs::remove(out + "/points.csv");
  expect_refused({"sweep", capture_, "-p", "legacy", "--force", "-o", out, "--resume", "--html",
                  out + "/sweep.json"},
                 "are the same file");
}

// If any signal ends a command at any moment, the command must leave no file.
TEST_F(OutputsCommand, NothingIsLeftOfWhatWasStopped) {
  const auto before = files();
  const std::string fifo = file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Fd writer(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));  // the trace never ends
  for (const char* signal : {"INT", "TERM", "HUP", "KILL"}) {
    ASSERT_EQ(write_all(writer.get(), kTrace), 0);
    for (const Words& words :
         std::vector<Words>{{"age", "100G", "--until", "turnover 1000x", "-o", file("aged")},
                            {"trace", "convert", fifo, file("out.e4t")},
                            {"trace", "convert", fifo, file("out.e4c")}}) {
      Words all = {"timeout", "-s", signal, "0.3", E4REPLAY};
      all.insert(all.end(), words.begin(), words.end());
      EXPECT_NE(run(all).status, 0);
      EXPECT_EQ(files(), before + 1) << signal << " " << words.front();
    }
  }
}

// A signal may arrive before mke2fs can handle it, or just after mke2fs has ended.
TEST_F(OutputsCommand, ASignalThatMke2fsDidNotTakeEndsTheProgram) {
  const std::string mke2fs = file("deaf-mke2fs");
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    std::ofstream(mke2fs) << "#!/bin/sh\ntrap '' INT QUIT TERM HUP\nkill -" << signal
                          << " $PPID\nexec mke2fs \"$@\"\n";
    fs::permissions(mke2fs, fs::perms::owner_all);
    const auto before = files();
    const Outcome out = run({"prlimit", "--core=0", "env", "E4R_MKE2FS=" + mke2fs, E4REPLAY, "age",
                             "64M", "--until", "turnover 0.1x", "-o", file("aged")});
    EXPECT_EQ(out.status, 128 + signal) << out.err;
    EXPECT_EQ(files(), before) << signal;
  }
}

}  // namespace
}  // namespace e4r::test
