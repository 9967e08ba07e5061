// SPDX-License-Identifier: GPL-2.0-or-later
// Each fault of a group must be found and reported once, and must not affect other groups. With the
// option `strict`, it must be an Error.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

using test::Bytes;
using test::Patch;

constexpr std::uint64_t kBytes = 64u << 20;

class Faults : public testing::Test {
 protected:
  void make(const std::string& features) {
    test::make_image(path_, kBytes, {"-t", "ext4", "-b", "1024", "-O", features});
    test::fill_image(path_, {.seed = 5, .max_free = 50, .max_used = 50});
    good_ = test::reference_bitmaps(path_);
  }

  // Expects that only this group is bad, for this reason, and that everything else is unchanged.
  void expect_fault(GroupNumber bad, GroupFault fault) {
    const auto image = Image::open(path_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ(describe(image->groups()[bad].fault), describe(fault));
    EXPECT_EQ(image->bad_groups(), std::vector<GroupNumber>{bad});
    ASSERT_EQ(image->warnings().size(), 1u);
    const std::string warning = image->warnings().front();
    EXPECT_NE(warning.find("group " + std::to_string(bad)), std::string::npos) << warning;
    EXPECT_NE(warning.find(describe(fault)), std::string::npos) << warning;
    for (GroupNumber group = 0; group < good_.size(); ++group) {
      if (group == bad)
        EXPECT_TRUE(std::ranges::all_of(image->bitmap(group), [](auto w) { return w == ~0ull; }));
      else
        EXPECT_TRUE(std::ranges::equal(image->bitmap(group), good_[group])) << group;
    }
    const auto strict = Image::open(path_, {.strict = true});
    ASSERT_FALSE(strict.ok());
    EXPECT_NE(strict.error().message.find(describe(fault)), std::string::npos);
  }

  [[nodiscard]] Bytes bitmap_bytes(GroupNumber group) const {
    return test::read_at(path_, test::bitmap_offset(path_, group), 1024);
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
  std::vector<std::vector<std::uint64_t>> good_;
};

TEST_F(Faults, BitmapChecksumInBothStoredForms) {
  for (const char* features : {"64bit", "^64bit"}) {
    make(features);
    Bytes bytes = bitmap_bytes(3);
    bytes[700] ^= 0x10;
    const Patch patch(path_, test::bitmap_offset(path_, 3), bytes);
    expect_fault(3, GroupFault::bitmap_checksum);
    EXPECT_NE(test::run({"e2freefrag", path_}).status, 0) << "libext2fs sees it as well";
  }
}

TEST_F(Faults, BitmapPadding) {
  for (const char* features : {"64bit", "^metadata_csum,uninit_bg"}) {
    test::make_image(path_, kBytes, {"-t", "ext4", "-b", "1024", "-g", "4096", "-O", features});
    good_ = test::reference_bitmaps(path_);
    Bytes bytes = bitmap_bytes(2);
    bytes[900] = 0xfe;  // outside the checksummed part
    const Patch patch(path_, test::bitmap_offset(path_, 2), bytes);
    const auto info = Image::open(path_);
    ASSERT_TRUE(info.ok());
    if (!info->groups()[2].block_uninit) expect_fault(2, GroupFault::bitmap_padding);
  }
}

TEST_F(Faults, BitmapPaddingOfAShortLastGroup) {
  test::make_image(path_, (9u << 20) + 1024 * 700,
                   {"-t", "ext4", "-b", "1024", "-O", "^metadata_csum,^uninit_bg"});
  good_ = test::reference_bitmaps(path_);
  const auto last = static_cast<GroupNumber>(good_.size() - 1);
  Bytes bytes = bitmap_bytes(last);
  bytes.back() = 0x7f;
  const Patch patch(path_, test::bitmap_offset(path_, last), bytes);
  expect_fault(last, GroupFault::bitmap_padding);
}

TEST_F(Faults, BitmapThatCallsItsOwnMetadataFree) {
  make("^metadata_csum,^uninit_bg,^flex_bg");
  Bytes bytes = bitmap_bytes(4);
  const auto at = (test::bitmap_offset(path_, 4) / 1024 - 1) % 8192;
  bytes[at / 8] &= static_cast<unsigned char>(~(1u << (at % 8)));
  const Patch patch(path_, test::bitmap_offset(path_, 4), bytes);
  expect_fault(4, GroupFault::bitmap_metadata);
}

// With flex_bg, a kernel refuses a bitmap that marks metadata as free only when it allocates such a
// block.
TEST_F(Faults, MetadataThatIsCalledFreeIsInUse) {
  make("^metadata_csum,^uninit_bg");
  const auto before = Image::open(path_);
  ASSERT_TRUE(before.ok());
  const GroupInfo& owner = before->groups()[4];
  const GroupNumber group = before->superblock().group_of(owner.inode_table);
  ASSERT_NE(group, 4u);
  const Block first = before->superblock().first_block(group);
  Bytes bytes = bitmap_bytes(group);
  for (const Block block : {owner.inode_table, owner.inode_table + 1, owner.block_bitmap})
    bytes[(block - first) / 8] &= static_cast<unsigned char>(~(1u << ((block - first) % 8)));
  const Patch patch(path_, test::bitmap_offset(path_, group), bytes);
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_TRUE(image->bad_groups().empty());
  ASSERT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->warnings().front().find("marks metadata as free (3 clusters in total)"),
            std::string::npos)
      << image->warnings().front();
  for (GroupNumber g = 0; g < good_.size(); ++g) {
    EXPECT_EQ(image->groups()[g].free_metadata, g == group ? 3u : 0u) << g;
    EXPECT_TRUE(std::ranges::equal(image->bitmap(g), good_[g])) << g;
  }
  EXPECT_FALSE(Image::open(path_, {.strict = true}).ok());
}

TEST_F(Faults, DescriptorChecksum) {
  for (const char* features : {"64bit", "^64bit", "^metadata_csum,uninit_bg"}) {
    make(features);
    test::edit_descriptor(path_, 5, false, [](test::DescriptorBytes d) { d.data[12] ^= 1; });
    expect_fault(5, GroupFault::descriptor_checksum);
  }
}

TEST_F(Faults, DescriptorOutOfRange) {
  for (const std::uint32_t field : {0u, 4u, 8u}) {
    make("^metadata_csum,^uninit_bg");
    static std::uint32_t offset;
    offset = field;
    test::edit_descriptor(path_, 6, true,
                          [](test::DescriptorBytes d) { d.data[offset + 3] = 0xf0; });
    expect_fault(6, GroupFault::descriptor_range);
  }
}

TEST_F(Faults, DescriptorPointsIntoTheSuperblockOrTheTable) {
  for (const unsigned char block : {0, 1, 2}) {
    make("64bit");
    static unsigned char where;
    where = block;
    test::edit_descriptor(path_, 1, true, [](test::DescriptorBytes d) {
      std::fill(d.data, d.data + 4, static_cast<unsigned char>(0));
      d.data[0] = where;
    });
    expect_fault(1, GroupFault::descriptor_range);
  }
}

TEST_F(Faults, WithoutFlexBgMetadataBelongsIntoItsGroup) {
  make("^flex_bg,^metadata_csum,^uninit_bg");
  test::edit_descriptor(path_, 2, true, [](test::DescriptorBytes d) {
    d.data[1] = static_cast<unsigned char>(d.data[1] + 0x40);  // 16,384 blocks later
  });
  expect_fault(2, GroupFault::descriptor_range);
}

TEST_F(Faults, GroupZeroUninitialised) {
  make("64bit");
  test::edit_descriptor(path_, 0, true, [](test::DescriptorBytes d) { d.data[18] |= 2; });
  expect_fault(0, GroupFault::group_zero_uninit);
}

TEST_F(Faults, ReadErrorsAfterTheFileShrank) {
  make("64bit");
  auto image = Image::open(path_, {.load_bitmaps = false});
  ASSERT_TRUE(image.ok());
  std::filesystem::resize_file(path_, test::bitmap_offset(path_, 4));
  ASSERT_TRUE(image->scan_bitmaps([](unsigned, GroupNumber, auto) {}).ok());
  ASSERT_FALSE(image->bad_groups().empty());
  EXPECT_EQ(image->bad_groups().front(), 4u);
  for (const GroupNumber group : image->bad_groups())
    EXPECT_EQ(image->groups()[group].fault, GroupFault::bitmap_read);
}

TEST_F(Faults, ManyAreOneWarning) {
  make("64bit");
  for (const std::uint32_t group : {2u, 4u, 7u})
    test::edit_descriptor(path_, group, false, [](test::DescriptorBytes d) { d.data[12] ^= 1; });
  auto image = Image::open(path_, {.load_bitmaps = false});
  ASSERT_TRUE(image.ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(image->scan_bitmaps([](unsigned, GroupNumber, auto) {}).ok());
  EXPECT_EQ(image->bad_groups(), (std::vector<GroupNumber>{2, 4, 7}));
  ASSERT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->warnings().front().find("and 2 more"), std::string::npos);
}

// The bitmap of an uninitialised group was never written, so the contents at its place must be
// ignored.
TEST(Uninitialised, GarbageOnDiskIsNotLookedAt) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  for (const char* features : {"64bit", "^metadata_csum,uninit_bg", "^flex_bg"}) {
    test::make_image(path, kBytes, {"-t", "ext4", "-b", "1024", "-O", features});
    const auto good = test::reference_bitmaps(path);
    const auto before = Image::open(path);
    ASSERT_TRUE(before.ok());
    int seen = 0;
    for (GroupNumber group = 0; group < good.size(); ++group) {
      if (!before->groups()[group].block_uninit) continue;
      ++seen;
      test::write_at(path, test::bitmap_offset(path, group), Bytes(1024, 0xa5));
    }
    EXPECT_GT(seen, 0) << features;
    const auto image = Image::open(path);
    ASSERT_TRUE(image.ok());
    EXPECT_TRUE(image->bad_groups().empty());
    for (GroupNumber group = 0; group < good.size(); ++group)
      EXPECT_TRUE(std::ranges::equal(image->bitmap(group), good[group])) << group;
  }
}

// If descriptors have no checksums, the flag BLOCK_UNINIT is ignored.
TEST(Uninitialised, FlagCountsOnlyWithChecksums) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_image(path, kBytes, {"-t", "ext4", "-b", "1024", "-O", "^metadata_csum,^uninit_bg"});
  test::fill_image(path, {.seed = 2, .max_free = 5, .max_used = 5});
  const auto good = test::reference_bitmaps(path);
  test::edit_descriptor(path, 3, true, [](test::DescriptorBytes d) { d.data[18] |= 2; });
  const auto image = Image::open(path);
  ASSERT_TRUE(image.ok());
  EXPECT_FALSE(image->groups()[3].block_uninit);
  EXPECT_TRUE(std::ranges::equal(image->bitmap(3), good[3]));
}

}  // namespace
}  // namespace e4r::image
