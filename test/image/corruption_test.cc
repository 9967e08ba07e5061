// SPDX-License-Identifier: GPL-2.0-or-later
// Opening a damaged or truncated image must give an Image or an Error. It must not crash, hang or
// allocate huge amounts of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"
#include "util/bytes.h"
#include "util/rng.h"

namespace e4r::image {
namespace {

using test::Bytes;
using test::Patch;

constexpr std::uint64_t kSeed = 0x5eed;
constexpr std::uint64_t kSuper = 1024;

struct Kind {
  const char* name;
  std::vector<std::string> options;
  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"checksums", {"-t", "ext4", "-b", "1024", "-g", "1024"}},
      {"uninit_bg", {"-t", "ext4", "-b", "1024", "-g", "1024", "-O", "^metadata_csum,uninit_bg"}},
      {"no_checksums",
       {"-t", "ext4", "-b", "1024", "-g", "1024", "-O", "^metadata_csum,^uninit_bg,64bit"}},
      {"meta_bg",
       {"-t", "ext4", "-b", "1024", "-g", "512", "-O", "meta_bg,^resize_inode,^metadata_csum"}},
      {"bigalloc", {"-t", "ext4", "-b", "1024", "-O", "bigalloc,^metadata_csum", "-C", "4096"}},
      {"ext2", {"-t", "ext2", "-b", "1024"}},
  };
  return kKinds;
}

// Calls every query of an image.
void exercise(const Image& image) {
  const SuperblockInfo& geo = image.superblock();
  for (GroupNumber group = 0; group < geo.groups; ++group)
    EXPECT_EQ(image.bitmap(group).size(), geo.words_per_group());
  for (const BlockRange& range : image.metadata()) {
    EXPECT_GT(range.count, 0u);
    EXPECT_LE(range.end(), geo.blocks_count);
  }
  for (std::uint32_t ino : {0u, 1u, 2u, 7u, 8u, 11u, 12u, geo.inodes_count, geo.inodes_count + 1})
    if (image.inode(ino).ok()) (void)image.file_extents(ino, 1000);
}

class Corruption : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    test::make_image(path_, 8u << 20, GetParam().options);
    test::fill_image(path_, {.seed = 3, .max_free = 30, .max_used = 30, .skip_percent = 40});
  }

  // Returns whether the image opened.
  bool try_open() {
    const auto image = Image::open(path_, {.threads = 1});
    if (image.ok())
      exercise(*image);
    else
      EXPECT_EQ(image.error().message.find('\n'), std::string::npos);
    return image.ok();
  }

  // Writes a superblock with a valid checksum.
  [[nodiscard]] static Bytes sealed(Bytes super) {
    const std::uint32_t crc = crc32c(~0u, std::as_bytes(std::span(super)).first(1020));
    std::memcpy(super.data() + 1020, &crc, sizeof crc);
    return super;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

INSTANTIATE_TEST_SUITE_P(Kinds, Corruption, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Corruption, EveryByteOfTheSuperblock) {
  const Bytes super = test::read_at(path_, kSuper, 1024);
  Rng rng(kSeed);
  for (std::size_t at = 0; at < 1020; ++at)
    for (const unsigned value : {0x00u, 0xffu, 1u << rng.below(8)}) {
      Bytes bad = super;
      bad[at] =
          static_cast<unsigned char>(value == 0x00 || value == 0xff ? value : bad[at] ^ value);
      SCOPED_TRACE(testing::Message() << "byte " << at << " is " << unsigned{bad[at]});
      const Patch patch(path_, kSuper, sealed(bad));
      try_open();
    }
  EXPECT_TRUE(try_open()) << "patches are undone";
}

TEST_P(Corruption, RandomFieldsOfTheSuperblock) {
  const Bytes super = test::read_at(path_, kSuper, 1024);
  Rng rng(kSeed);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    Bytes bad = super;
    for (std::uint64_t fields = rng.between(1, 4); fields > 0; --fields) {
      const std::uint64_t value = rng.chance(1, 2) ? rng.below(64) : rng.next();
      const std::size_t at = 4 * rng.below(rng.chance(1, 2) ? 32 : 255);
      std::memcpy(bad.data() + at, &value, 4);
    }
    const Patch patch(path_, kSuper, sealed(bad));
    try_open();
  }
}

TEST_P(Corruption, DescriptorTable) {
  const Bytes table = test::read_at(path_, 2048, 1024);
  Rng rng(kSeed);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    Bytes bad = table;
    for (std::uint64_t bytes = rng.between(1, 40); bytes > 0; --bytes)
      bad[rng.below(bad.size())] = static_cast<unsigned char>(rng.next());
    const Patch patch(path_, 2048, bad);
    try_open();
  }
}

TEST_P(Corruption, AllMetadata) {
  const Bytes head = test::read_at(path_, 0, 256u << 10);
  Rng rng(kSeed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    Bytes bad = head;
    for (std::uint64_t bytes = rng.between(1, 400); bytes > 0; --bytes)
      bad[2048 + rng.below(bad.size() - 2048)] = static_cast<unsigned char>(rng.next());
    const Patch patch(path_, 0, bad);
    try_open();
  }
}

TEST_P(Corruption, TruncatedAnywhere) {
  Rng rng(kSeed);
  std::vector<std::uint64_t> sizes = {0, 1, 1023, 1024, 2047, 2048, 2049, 4096, (8u << 20) - 1};
  for (int i = 0; i < 200; ++i) sizes.push_back(rng.below(8u << 20));
  std::sort(sizes.rbegin(), sizes.rend());
  for (const std::uint64_t size : sizes) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " size " << size);
    std::filesystem::resize_file(path_, size);
    const auto image = Image::open(path_);
    ASSERT_FALSE(image.ok());
    const std::string want = size < 2048 ? "is not an ext4 image" : "is truncated";
    EXPECT_NE(image.error().message.find(want), std::string::npos) << image.error().message;
    if (size < 2048) continue;
    std::filesystem::resize_file(path_, 8u << 20);  // adds a hole, as the message advises
    try_open();
    std::filesystem::resize_file(path_, size);
  }
}

// For the kernel and for e2fsck, the block size determines where group 0 begins.
TEST(FirstDataBlock, IsOneWithBlocksOfOneKiBAndElseNone) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  for (const char* block_size : {"1024", "4096"}) {
    test::make_image(path, 8u << 20, {"-t", "ext4", "-b", block_size, "-O", "^metadata_csum"});
    ASSERT_TRUE(Image::open(path).ok());
    const bool small = std::string(block_size) == "1024";
    test::write_at(path, kSuper + 20, {static_cast<unsigned char>(small ? 0 : 1)});
    const auto image = Image::open(path);
    ASSERT_FALSE(image.ok()) << block_size;
    EXPECT_NE(image.error().message.find("first data block"), std::string::npos);
    EXPECT_NE(test::run({"e2fsck", "-fn", path}).status, 0);
  }
}

// The superblock describes hundreds of millions of groups, but the file of 16 TiB is empty.
TEST(Allocation, BoundedByWhatTheFileHolds) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, 8u << 20,
                   {"-t", "ext4", "-b", "1024", "-O", "^metadata_csum,64bit,^resize_inode"});
  Bytes super = test::read_at(path, kSuper, 1024);
  const auto put = [&super](std::size_t at, std::uint32_t value) {
    std::memcpy(super.data() + at, &value, sizeof value);
  };
  put(4, 1u << 31);        // blocks
  put(32, 64);             // blocks per group
  put(36, 64);             // clusters per group
  put(40, 8);              // inodes per group
  put(0, (1u << 25) * 8);  // inodes
  test::write_at(path, kSuper, super);
  std::filesystem::resize_file(path, std::uint64_t{1} << 41);
  const auto image = Image::open(path);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().message.find("more group descriptors"), std::string::npos)
      << image.error().message;
}

}  // namespace
}  // namespace e4r::image
