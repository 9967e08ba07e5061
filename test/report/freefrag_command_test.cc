// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the command itself: where it writes output, its exit statuses, and that each error is one
// line.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "lazyinit/loop_device.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r {
namespace {

namespace json = boost::json;

class FreefragCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<test::TempDir>();
    test::make_image(image(), 64u << 20, {"-t", "ext4", "-b", "1024"});
    test::fill_image(image(), {.seed = 11, .max_free = 30, .max_used = 30});
  }
  static void TearDownTestSuite() { dir_.reset(); }

  static std::string image() { return dir_->file("image"); }
  static std::string file(const std::string& name) { return dir_->file(name); }

  static test::Outcome freefrag(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {E4REPLAY, "freefrag"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return test::run(argv);
  }

  static void expect_error(const std::vector<std::string>& arguments, int status,
                           const std::string& text) {
    const test::Outcome outcome = freefrag(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }

 private:
  static std::unique_ptr<test::TempDir> dir_;
};
std::unique_ptr<test::TempDir> FreefragCommand::dir_;

// The image has blocks of 1 KiB and short free extents, and no free piece of 256 KiB.
TEST_F(FreefragCommand, CountsAlignedPiecesBehindIt) {
  const std::string plain = freefrag({image()}).out;
  const std::string text = freefrag({"--aligned", image()}).out;
  ASSERT_TRUE(text.starts_with(plain));
  const auto doc = json::parse(freefrag({"--json", "-", image()}).out);
  const json::array& rows = doc.at("aligned").as_array();
  ASSERT_EQ(rows.size(), 3u);
  std::istringstream lines(text.substr(plain.size()));
  std::string line;
  for (int heading = 0; heading < 3; ++heading) std::getline(lines, line);
  for (const json::value& row : rows) {
    std::string size, colon;
    std::uint64_t pieces = 0, blocks = 0;
    lines >> size >> colon >> pieces >> blocks >> line;
    EXPECT_EQ(size, std::to_string(row.at("size_kb").as_int64()) + "K");
    EXPECT_EQ(pieces, row.at("pieces").to_number<std::uint64_t>());
    EXPECT_EQ(blocks, pieces * row.at("size_kb").to_number<std::uint64_t>());
  }
  EXPECT_GT(rows[0].at("pieces").as_int64(), 100);
  EXPECT_EQ(rows[2].at("pieces").as_int64(), 0);
}

TEST_F(FreefragCommand, PrintsWhatE2freefragPrints) {
  for (const char* chunk : {"0", "16", "0x40", "02000"}) {
    const auto want = test::run({"e2freefrag", "-c", chunk, image()});
    const auto got = freefrag({"-c", chunk, image()});
    EXPECT_EQ(got.out, want.out);
    EXPECT_EQ(got.err, "");
    EXPECT_EQ(got.status, 0);
  }
  EXPECT_EQ(freefrag({image()}).out, test::run({"e2freefrag", image()}).out);
}

TEST_F(FreefragCommand, JsonSaysTheSameAsTheText) {
  const auto written = freefrag({"-c", "16", image(), "--json", file("out.json")});
  EXPECT_EQ(written.out, test::run({"e2freefrag", "-c", "16", image()}).out);
  const auto printed = freefrag({"-c", "16", image(), "--json", "-"});
  EXPECT_EQ(printed.status, 0);
  std::ifstream stored(file("out.json"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stored), {}), printed.out);

  const json::value document = json::parse(printed.out);
  EXPECT_EQ(document.at("schema"), "e4replay-freefrag/1");
  EXPECT_EQ(document.at("image").at("block_size"), 1024);
  EXPECT_EQ(document.at("image").at("blocks"), 65536);
  const json::value& extents = document.at("free_extents");
  const auto line = [&](const std::string& name, const char* key, const std::string& unit) {
    const std::string want = name + ": " + json::serialize(extents.at(key)) + unit;
    EXPECT_NE(written.out.find(want), std::string::npos) << want << "\n" << written.out;
  };
  line("Num. free extent", "count", "\n");
  line("Min. free extent", "min_kb", " KB");
  line("Max. free extent", "max_kb", " KB");
  line("Avg. free extent", "avg_kb", " KB");
  std::int64_t count = 0;
  for (const json::value& row : extents.at("histogram").as_array())
    count += row.at("extents").as_int64();
  EXPECT_EQ(extents.at("count"), count);
  EXPECT_EQ(document.at("chunks").at("total"), 4097);
  EXPECT_TRUE(document.at("bad_groups").as_array().empty());
}

// The kernel writes the superblock of a mounted disk only at intervals, and e2freefrag computes
// percentages from the superblock's count. So the command must warn.
TEST_F(FreefragCommand, SaysThatTheSuperblockIsOld) {
  std::filesystem::copy_file(image(), file("mounted"));
  for (const char* count : {"7", "0"}) {
    const std::string set = fmt::format("ssv free_blocks_count {}", count);
    ASSERT_EQ(test::run({"debugfs", "-w", "-R", set, file("mounted")}).status, 0);
    const auto text = freefrag({file("mounted")});
    EXPECT_EQ(text.out, test::run({"e2freefrag", file("mounted")}).out);
    EXPECT_EQ(text.status, 0);
    EXPECT_EQ(std::count(text.err.begin(), text.err.end(), '\n'), 1) << text.err;
    EXPECT_NE(text.err.find(
                  fmt::format("its superblock counts {} free blocks, its bitmaps have ", count)),
              std::string::npos)
        << text.err;
    const json::value document = json::parse(freefrag({"--json", "-", file("mounted")}).out);
    double percent = 0;
    for (const json::value& row : document.at("free_extents").at("histogram").as_array())
      percent += row.at("percent").to_number<double>();
    EXPECT_NEAR(percent, 100, 1e-6);
  }
}

TEST_F(FreefragCommand, UsageErrors) {
  expect_error({}, 2, "required");
  expect_error({image(), "--nonsense"}, 2, "--nonsense");
  expect_error({"-c", "3", image()}, 2, "power of two");
  expect_error({"-c", "12x", image()}, 2, "12x");
  expect_error({"-c", "18446744073709551616", image()}, 2, "chunk size");
  expect_error({"-c", "9223372036854775808", image()}, 2, "too large");
  test::make_image(file("4k"), 8u << 20, {"-t", "ext4", "-b", "4096"});
  expect_error({"-c", "2", file("4k")}, 2, "at least 4");
}

TEST_F(FreefragCommand, FilesThatAreNoImage) {
  expect_error({file("missing")}, 1, "No such file");
  expect_error({"/tmp"}, 1, "is a directory");
  expect_error({"/dev/null"}, 1, "block device");
  std::ofstream(file("empty")).flush();
  expect_error({file("empty")}, 1, "is not an ext4 image");
  std::ofstream(file("text")) << std::string(5000, 'x');
  expect_error({file("text")}, 1, "is not an ext4 image");
  std::ofstream(file("gz")) << "\x1f\x8b" << std::string(5000, 'x');
  expect_error({file("gz")}, 1, "gunzip");
  std::filesystem::copy_file(image(), file("short"));
  std::filesystem::resize_file(file("short"), 40u << 20);
  expect_error({file("short")}, 1, "is truncated");
}

TEST_F(FreefragCommand, E2imageFiles) {
  ASSERT_EQ(test::run({"e2image", "-r", image(), file("raw")}).status, 0);
  auto want = test::run({"e2freefrag", file("raw")});
  EXPECT_EQ(freefrag({file("raw")}).out, want.out);
  ASSERT_EQ(test::run({"e2image", "-Q", image(), file("qcow2")}).status, 0);
  expect_error({file("qcow2")}, 1, "e2image -r " + file("qcow2") + " " + file("qcow2") + ".img");
  ASSERT_EQ(test::run({"e2image", "-r", file("qcow2"), file("qcow2.img")}).status, 0);
  EXPECT_EQ(freefrag({file("qcow2.img")}).status, 0);
  ASSERT_EQ(test::run({"e2image", image(), file("e2i")}).status, 0);
  expect_error({file("e2i")}, 1, "e2image -r");
}

TEST_F(FreefragCommand, DamagedGroups) {
  std::filesystem::copy_file(image(), file("bad"));
  test::edit_descriptor(file("bad"), 3, false, [](test::DescriptorBytes d) { d.data[12] ^= 1; });
  const auto outcome = freefrag({file("bad"), "--json", "-"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_NE(outcome.err.find("group 3: its descriptor's checksum"), std::string::npos);
  const json::value document = json::parse(outcome.out);
  ASSERT_EQ(document.at("bad_groups").as_array().size(), 1u);
  EXPECT_EQ(document.at("bad_groups").at(0).at("group"), 3);
  expect_error({file("bad"), "--strict"}, 1, "group 3");
}

TEST_F(FreefragCommand, BlockDevice) {
  const test::LoopDevice device(image(), test::LoopDevice::Access::read_only);
  if (device.path().empty()) GTEST_SKIP() << "not allowed to attach a loop device";
  const auto got = freefrag({device.path()});
  const auto want = test::run({"e2freefrag", device.path()});
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.err, "");
  EXPECT_EQ(got.out, want.out);
}

TEST_F(FreefragCommand, CountsWhatFstrimWouldSend) {
  const auto plain = freefrag({image()});
  const auto with = freefrag({image(), "--fstrim", "16K"});
  ASSERT_TRUE(with.out.starts_with(plain.out)) << "e2freefrag's words come first";
  const json::value fitrim =
      json::parse(freefrag({image(), "--fstrim", "16K", "--json", "-"}).out).at("fitrim");
  EXPECT_EQ(fitrim.at("minlen_blocks"), 16);
  EXPECT_GT(fitrim.at("discards").as_int64(), 100);
  EXPECT_EQ(fitrim.at("bytes").as_int64(), fitrim.at("blocks").as_int64() * 1024);
  EXPECT_EQ(with.out.substr(plain.out.size()),
            "\nfstrim after mount: " + json::serialize(fitrim.at("bytes")) + " bytes in " +
                json::serialize(fitrim.at("discards")) + " discards of at least 16 blocks\n");
  EXPECT_EQ(freefrag({image(), "--json", "-"}).out.find("fitrim"), std::string::npos);
  expect_error({image(), "--fstrim", "many"}, 2, "--fstrim: 'many'");
  expect_error({image(), "--fstrim", "9M"}, 2, "longer than a group (8.0 MiB)");
}

// Compares the command's figure with the bytes that the kernel's own FITRIM sends on a mounted file
// system.
TEST_F(FreefragCommand, FstrimSendsAsMuch) {
  std::filesystem::create_directory(file("mnt"));
  for (const auto& [name, options] :
       {std::pair<std::string, std::vector<std::string>>{"1k", {"-b", "1024"}},
        {"4k", {"-b", "4096"}},
        {"bigalloc", {"-b", "1024", "-O", "bigalloc", "-C", "16384"}}}) {
    std::vector<std::string> mke2fs = {"-t", "ext4"};
    mke2fs.insert(mke2fs.end(), options.begin(), options.end());
    test::make_image(file(name), 64u << 20, mke2fs);
    test::fill_image(file(name), {.seed = 5, .max_free = 30, .max_used = 30});
    const test::LoopDevice device(file(name));
    if (device.path().empty()) GTEST_SKIP() << "not allowed to attach a loop device";
    for (const char* minlen : {"0", "40K"}) {
      const auto counted = freefrag({device.path(), "--fstrim", minlen, "--json", "-"});
      ASSERT_EQ(counted.status, 0) << counted.err;
      const auto bytes = json::serialize(json::parse(counted.out).at("fitrim").at("bytes"));
      // Mount again each time, because FITRIM skips groups that it has already trimmed.
      if (test::run({"mount", device.path(), file("mnt")}).status != 0)
        GTEST_SKIP() << "not allowed to mount ext4";
      const auto trimmed = test::run({"fstrim", "-v", "-m", minlen, file("mnt")});
      EXPECT_EQ(test::run({"umount", file("mnt")}).status, 0);
      EXPECT_EQ(trimmed.status, 0) << trimmed.err;
      EXPECT_NE(trimmed.out.find("(" + bytes + " bytes) trimmed"), std::string::npos)
          << name << ", minlen " << minlen << ": " << bytes << " counted, " << trimmed.out;
    }
  }
}

TEST_F(FreefragCommand, CannotWrite) {
  const auto outcome = freefrag({image(), "--json", file("no/such/dir")});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("cannot write"), std::string::npos);
}

TEST_F(FreefragCommand, WarnsOfAJournalThatNeedsRecovery) {
  std::filesystem::copy_file(image(), file("dirty"));
  ASSERT_EQ(test::run({"debugfs", "-w", "-R", "feature needs_recovery", file("dirty")}).status, 0);
  const auto outcome = freefrag({file("dirty")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("e2fsck"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, test::run({"e2freefrag", file("dirty")}).out);
}

}  // namespace
}  // namespace e4r
