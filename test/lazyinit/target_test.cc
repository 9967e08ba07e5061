// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the results of zero() and probe() on several kinds of files and on a loop device, with
// every available means of zeroing.
#include "lazyinit/target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "lazyinit/loop_device.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

using test::Bytes;

constexpr std::uint64_t kSize = 8u << 20;

// Makes a file of kSize bytes, in which `ranges` hold random nonzero bytes.
void make_file(const std::string& path,
               const std::vector<std::pair<std::uint64_t, std::size_t>>& ranges) {
  std::ofstream(path).close();
  std::filesystem::resize_file(path, kSize);
  Rng rng(5);
  for (const auto& [offset, count] : ranges) {
    Bytes bytes(count);
    for (auto& byte : bytes) byte = static_cast<unsigned char>(rng.between(1, 255));
    test::write_at(path, offset, bytes);
  }
}

std::unique_ptr<FileTarget> opened(const std::string& path, Means means = {}) {
  auto target = FileTarget::open(path, Target::Access::write, means);
  EXPECT_TRUE(target.ok()) << target.error().message;
  return std::move(*target);
}

std::string refusal(const std::string& path, Target::Access access) {
  const auto target = Target::open(path, access);
  return target.ok() ? "opened" : target.error().message;
}

bool all_zero(const Bytes& bytes) {
  return std::ranges::all_of(bytes, [](unsigned char byte) { return byte == 0; });
}

TEST(Target, RefusesWhatIsNoFileAndNoDevice) {
  const test::TempDir dir;
  EXPECT_EQ(refusal(dir.path(), Target::Access::read),
            dir.path() + " is neither a regular file nor a block device");
  EXPECT_EQ(refusal("/dev/null", Target::Access::write),
            "/dev/null is neither a regular file nor a block device");
  EXPECT_EQ(refusal(dir.file("none"), Target::Access::read),
            "cannot open " + dir.file("none") + ": No such file or directory");
}

TEST(Target, ReadOnlyMeansReadOnly) {
  const test::TempDir dir;
  make_file(dir.file("f"), {{0, 4096}});
  const std::uint64_t before = test::hash_file(dir.file("f"));
  auto target = Target::open(dir.file("f"), Target::Access::read);
  ASSERT_TRUE(target.ok());
  const std::vector<std::byte> bytes(512);
  EXPECT_FALSE((*target)->write(0, bytes).ok());
  EXPECT_FALSE((*target)->zero(0, 4096).ok());
  EXPECT_EQ(test::hash_file(dir.file("f")), before);
}

TEST(Target, RangesPastTheEndAreErrors) {
  const test::TempDir dir;
  make_file(dir.file("f"), {});
  const auto target = opened(dir.file("f"));
  std::vector<std::byte> bytes(512);
  EXPECT_FALSE(target->read(kSize - 511, bytes).ok());
  EXPECT_FALSE(target->write(kSize - 511, bytes).ok());
  EXPECT_FALSE(target->zero(kSize, 1).ok());
  EXPECT_FALSE(target->zero(1, ~std::uint64_t{0}).ok()) << "the sum wraps";
  EXPECT_FALSE(target->probe(kSize - 4, 8).ok());
  EXPECT_EQ(std::filesystem::file_size(dir.file("f")), kSize);
}

TEST(Target, WritesWhatItReads) {
  const test::TempDir dir;
  make_file(dir.file("f"), {});
  const auto target = opened(dir.file("f"));
  const std::vector<std::byte> out(70000, std::byte{0x5a});
  std::vector<std::byte> in(out.size());
  ASSERT_TRUE(target->write(4097, out).ok());
  ASSERT_TRUE(target->read(4097, in).ok());
  EXPECT_EQ(in, out);
  EXPECT_TRUE(target->sync().ok());
}

// The available means of zeroing, and their effect on tmpfs (which can only punch holes) and on
// ext4.
struct Case {
  const char* name;
  Means means;
  ZeroMethod expected_on_disk;
};

class Zeroing : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { make_file(path_, {{0, 10000}, {1u << 20, 300000}, {5u << 20, 4096}}); }

  // Checks that everything outside [offset, offset + length) is unchanged.
  void expect_only(const Bytes& before, std::uint64_t offset, std::uint64_t length) {
    Bytes expected = before;
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), length, 0);
    EXPECT_EQ(test::read_at(path_, 0, kSize), expected);
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("f");
};

TEST_P(Zeroing, ZeroesTheRangeAndNothingElse) {
  const Bytes before = test::read_at(path_, 0, kSize);
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint64_t>{4096, 1u << 20}, {1, 5000}, {5u << 20, 4096}}) {
    make_file(path_, {{0, 10000}, {1u << 20, 300000}, {5u << 20, 4096}});
    const auto target = opened(path_, GetParam().means);
    const auto zeroed = target->zero(offset, length);
    ASSERT_TRUE(zeroed.ok()) << zeroed.error().message;
    ASSERT_TRUE(target->sync().ok());
    expect_only(before, offset, length);
    EXPECT_EQ(zeroed->written > 0, zeroed->method == ZeroMethod::write);
  }
}

TEST_P(Zeroing, NeverFillsAHole) {
  const auto target = opened(path_, GetParam().means);
  const std::uint64_t before = *target->allocated();
  const auto zeroed = target->zero(0, kSize);
  ASSERT_TRUE(zeroed.ok());
  ASSERT_TRUE(target->sync().ok());
  EXPECT_LE(*target->allocated(), before);
  EXPECT_LE(zeroed->written, before) << "only data has to be written";
  EXPECT_TRUE(all_zero(test::read_at(path_, 0, kSize)));
}

TEST_P(Zeroing, WritesOnlyWhereNothingElseHelps) {
  const auto target = opened(path_, GetParam().means);
  const auto zeroed = target->zero(1u << 20, 200000);
  ASSERT_TRUE(zeroed.ok());
  EXPECT_EQ(zeroed->method, GetParam().expected_on_disk);
  EXPECT_EQ(zeroed->written, GetParam().expected_on_disk == ZeroMethod::write ? 200000u : 0u);
}

TEST_P(Zeroing, ThreadsShareATarget) {
  const auto target = opened(path_, GetParam().means);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&target, t] {
      for (std::uint64_t i = t; i < 64; i += 4)
        EXPECT_TRUE(target->zero(i * (kSize / 64), kSize / 64).ok());
    });
  threads.clear();
  EXPECT_TRUE(all_zero(test::read_at(path_, 0, kSize)));
}

INSTANTIATE_TEST_SUITE_P(
    Means, Zeroing,
    testing::Values(Case{"all", {}, ZeroMethod::zero_range},
                    Case{"punch", {.zero_range = false}, ZeroMethod::zero_range},
                    Case{"write", {.zero_range = false, .punch_hole = false}, ZeroMethod::write}),
    [](const auto& param) { return param.param.name; });

TEST(Probe, TellsZerosFromData) {
  const test::TempDir dir;
  const std::string path = dir.file("f");
  make_file(path, {});
  const auto target = opened(path);
  EXPECT_EQ(target->probe(0, kSize)->content, Content::zeros);
  EXPECT_EQ(target->probe(0, kSize)->read, 0u) << "a hole is not read";
  test::write_at(path, 1u << 20, Bytes(3u << 20, 0));
  const auto zeros = target->probe(0, kSize);
  EXPECT_EQ(zeros->content, Content::zeros);
  EXPECT_EQ(zeros->read, 3u << 20) << "written zeros are";
}

TEST(Probe, NamesTheFirstByteThatIsNotZero) {
  const test::TempDir dir;
  const std::string path = dir.file("f");
  make_file(path, {});
  test::write_at(path, 0, Bytes(kSize, 0));
  const auto target = opened(path);
  Rng rng(11);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t at = rng.below(kSize);
    const test::Patch patch(path, at, {1});
    const std::uint64_t begin = rng.below(at + 1);
    const auto probed = target->probe(begin, kSize - begin);
    ASSERT_TRUE(probed.ok());
    EXPECT_EQ(probed->content, Content::data);
    ASSERT_EQ(probed->first, at) << "from " << begin;
    ASSERT_EQ(target->probe(begin, at - begin)->content, Content::zeros);
    ASSERT_EQ(target->probe(at + 1, kSize - at - 1)->content, Content::zeros);
  }
}

TEST(Probe, WhatAFileHasLostIsUnreadable) {
  const test::TempDir dir;
  const std::string path = dir.file("f");
  make_file(path, {});
  test::write_at(path, 0, Bytes(200000, 0));
  const auto target = opened(path);
  ASSERT_EQ(::truncate(path.c_str(), 100000), 0);
  EXPECT_EQ(target->probe(0, 100000)->content, Content::zeros);
  const auto probed = target->probe(0, 200000);
  EXPECT_EQ(probed->content, Content::unreadable);
  EXPECT_EQ(probed->first, 100000u);
  EXPECT_EQ(target->probe(500000, 1000)->content, Content::unreadable);
  std::vector<std::byte> bytes(4096);
  EXPECT_FALSE(target->read(99000, bytes).ok());
}

class OnLoop : public testing::Test {
 protected:
  void SetUp() override {
    make_file(path_, {{0, kSize}});
    loop_.emplace(path_);
    if (loop_->path().empty()) GTEST_SKIP() << "attaching a loop device is not permitted";
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("f");
  std::optional<test::LoopDevice> loop_;
};

TEST_F(OnLoop, IsADeviceOfTheFilesSize) {
  const auto target = opened(loop_->path());
  EXPECT_TRUE(target->is_block_device());
  EXPECT_EQ(target->size(), kSize);
  EXPECT_EQ(*target->allocated(), 0u);
}

TEST_F(OnLoop, IsTakenExclusively) {
  const auto holder = opened(loop_->path());
  EXPECT_EQ(refusal(loop_->path(), Target::Access::write),
            loop_->path() +
                " is in use: it is mounted, perhaps in another mount namespace, or held by another "
                "program: unmount it first");
  EXPECT_EQ(refusal(loop_->path(), Target::Access::read), "opened");
}

TEST_F(OnLoop, ZeroesWithEitherMeans) {
  for (const bool zeroout : {true, false}) {
    const auto target = opened(loop_->path(), {.zeroout = zeroout});
    const std::uint64_t offset = zeroout ? 65536 : 3u << 20;
    EXPECT_EQ(target->probe(offset, 1u << 20)->content, Content::data);
    const auto zeroed = target->zero(offset, 1u << 20);
    ASSERT_TRUE(zeroed.ok()) << zeroed.error().message;
    ASSERT_TRUE(target->sync().ok());
    EXPECT_EQ(zeroed->method == ZeroMethod::write, zeroed->written == 1u << 20);
    EXPECT_TRUE(zeroout || zeroed->method == ZeroMethod::write);
    EXPECT_EQ(target->probe(offset, 1u << 20)->content, Content::zeros);
    EXPECT_EQ(target->probe(offset, 1u << 20)->read, 1u << 20) << "a device is read";
    EXPECT_EQ(target->probe(offset - 1, 1u << 20)->first, offset - 1);
    EXPECT_EQ(target->probe(offset + 1, 1u << 20)->first, offset + (1u << 20));
  }
}

TEST_F(OnLoop, ARangeThatFitsNoSectorIsWritten) {
  const auto target = opened(loop_->path());
  const auto zeroed = target->zero(65536 + 100, 1000);
  ASSERT_TRUE(zeroed.ok()) << zeroed.error().message;
  EXPECT_EQ(zeroed->written, 1000u);
  ASSERT_TRUE(target->sync().ok());
  EXPECT_EQ(target->probe(65536 + 100, 1000)->content, Content::zeros);
  EXPECT_EQ(target->probe(65536 + 99, 1)->content, Content::data);
  EXPECT_EQ(target->probe(65536 + 1100, 1)->content, Content::data);
}

// The file behind the loop device is cut in half, so reads of the second half fail.
TEST_F(OnLoop, WhatCannotBeReadIsNotZero) {
  const auto target = opened(loop_->path());
  ASSERT_TRUE(target->zero(0, kSize).ok());
  ASSERT_TRUE(target->sync().ok());
  ASSERT_EQ(::truncate(path_.c_str(), kSize / 2), 0);
  EXPECT_EQ(target->probe(0, kSize / 2)->content, Content::zeros);
  const auto probed = target->probe(kSize / 2 - 65536, 131072);
  ASSERT_TRUE(probed.ok());
  EXPECT_EQ(probed->content, Content::unreadable);
  EXPECT_EQ(probed->first, kSize / 2);
  std::vector<std::byte> bytes(4096);
  const Status read = target->read(kSize / 2, bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message,
            "cannot read " + loop_->path() + " at byte 4194304: Input/output error");
}

}  // namespace
}  // namespace e4r::lazyinit
