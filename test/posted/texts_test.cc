// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/texts.h"

#include <gtest/gtest.h>

#include <string>

namespace e4r::posted {
namespace {

std::string mistake_in(const std::string& text) {
  Texts texts;
  const Status status = add_text(text, texts);
  return status.ok() ? "none" : status.error().message;
}

// The second line has the form that Lustre's kernels print.
constexpr const char* kGroups =
    "#group: free  frags first [ 2^0 2^1 ]\n"
    "#1    : 7 2 5 [ 1 1 1 0 0 0 0 0 0 0 0 0 0 0 ]\n"
    "#0    : 4 9 1 8 3 [ 0 0 1 0 0 0 0 0 0 0 0 0 0 0 ]\n";

const std::string kExtents =
    "Device: x\nBlocksize: 4096 bytes\nTotal blocks: 1000\nFree blocks: 20 (2.0%)\n\n"
    "Min. free extent: 8 KB \nMax. free extent: 40 KB\nAvg. free extent: 20 KB\n"
    "Num. free extent: 4\n\nHISTOGRAM OF FREE EXTENT SIZES:\n"
    "Extent Size Range :  Free extents   Free Blocks  Percent\n"
    "    8K...   16K-  :             2             4    0.40%\n"
    "   16K...   64K-  :             2            16    1.60%\n";

TEST(PostedTexts, MbGroupsOfLustreToo) {
  Texts texts;
  ASSERT_TRUE(add_text(kGroups, texts).ok());
  ASSERT_EQ(texts.groups.size(), 2u);
  EXPECT_EQ(texts.groups[0].number, 0u);
  EXPECT_EQ(texts.groups[0].free, 4u);
  EXPECT_EQ(texts.groups[0].fragments, 1u);
  EXPECT_EQ(texts.groups[0].first_free, 8u);
  EXPECT_EQ(texts.groups[0].counters[2], 1u);
  EXPECT_EQ(texts.groups[1].free, 7u);
  EXPECT_EQ(texts.groups[1].first_free, 5u);
}

TEST(PostedTexts, E2freefrag) {
  Texts texts;
  ASSERT_TRUE(add_text(kExtents, texts).ok()) << mistake_in(kExtents);
  EXPECT_EQ(texts.extents->block_size, 4096u);
  EXPECT_EQ(texts.extents->blocks, 1000u);
  EXPECT_EQ(texts.extents->max_kib, 40u);
  ASSERT_EQ(texts.extents->buckets.size(), 2u);
  EXPECT_EQ(texts.extents->buckets[1].least, 4u);
  EXPECT_EQ(texts.extents->buckets[1].most, 15u);
  EXPECT_EQ(texts.extents->buckets[1].blocks, 16u);
}

TEST(PostedTexts, Dumpe2fs) {
  const std::string head =
      "Filesystem features:      has_journal extent needs_recovery\nInode count:   128\n"
      "Block count:              1000\nReserved block count:     50\nFree blocks:   20\n"
      "Block size:               4096\nBlocks per group:         32768\nInode size:\t          "
      "256\n"
      "Group descriptor size:    64\nFlex block group size:    16\nRAID stripe width:        "
      "384\nTotal journal size:       "
      "4096k\n";
  Texts texts;
  ASSERT_TRUE(add_text(head, texts).ok());
  EXPECT_FALSE(texts.superblock->free.has_value()) << "as of dumpe2fs -h";
  const auto words = mke2fs_arguments(*texts.superblock);
  std::string all;
  for (const std::string& word : words) all += word + " ";
  EXPECT_EQ(all,
            "-b 4096 -O none,has_journal,extent -g 32768 -N 128 -I 256 -G 16 -m 5.000000 "
            "-J size=4 ");
  EXPECT_EQ(mke2fs_extended(*texts.superblock), ",stripe_width=384");
  Texts whole;
  ASSERT_TRUE(add_text(head + "\nGroup 0: (Blocks 0-999)\n  Free blocks: 100-109, 200, 201-209\n"
                              "  Free inodes: 12-128\n",
                       whole)
                  .ok());
  ASSERT_TRUE(whole.superblock->free.has_value());
  EXPECT_EQ(*whole.superblock->free, (std::vector<BlockRange>{{100, 10}, {200, 10}}));
}

TEST(PostedTexts, MbStatsSayHowManyGroupsThereAre) {
  Texts texts;
  ASSERT_TRUE(add_text("mballoc:\n\treqs: 3\n\tbuddies_generated: 5/2048\n", texts).ok());
  EXPECT_EQ(texts.groups_count, 2048u);
}

TEST(PostedTexts, SaysWhatIsWrong) {
  EXPECT_EQ(mistake_in("hello\n"),
            "is not the output of e2freefrag or dumpe2fs, nor mb_groups or mb_stats");
  std::string text = kExtents;
  text.replace(text.find("             4    0.40"), 14, "            40");
  EXPECT_EQ(mistake_in(text), "as e2freefrag: 2 extents of 2 to 3 blocks cannot have 40 blocks");
  EXPECT_EQ(mistake_in(kExtents.substr(0, kExtents.size() - 60)).substr(0, 53),
            "as e2freefrag: the histogram has 2 extents with 4 blo");
  EXPECT_EQ(mistake_in(std::string(kGroups) + "#1 : 0 0 0 [ 0 ]\n"),
            "as mb_groups: group 1 is given twice");
  Texts twice;
  ASSERT_TRUE(add_text(kGroups, twice).ok());
  EXPECT_FALSE(add_text(kGroups, twice).ok());
}

// Reading any pasted text must end with a result or an error.
TEST(PostedTexts, EveryPrefixAndEveryByteIsAnswered) {
  for (const std::string& text : {std::string(kGroups), kExtents})
    for (std::size_t at = 0; at < text.size(); ++at) {
      (void)mistake_in(text.substr(0, at));
      for (const char byte : {'\0', '-', '9', ' ', '\n', ':', '\xff'}) {
        std::string damaged = text;
        damaged[at] = byte;
        (void)mistake_in(damaged);
      }
    }
}

}  // namespace
}  // namespace e4r::posted
