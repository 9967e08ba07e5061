// SPDX-License-Identifier: GPL-2.0-or-later
// Opening an image must not change it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "image/image.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"

namespace e4r::image {
namespace {

// Returns the access modes of all descriptors through which this process has `path` open.
std::vector<int> access_modes(const std::string& path) {
  std::vector<int> modes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != path) continue;
    std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
    std::string key;
    std::string value;
    while (info >> key >> value)
      if (key == "flags:") modes.push_back(std::stoi(value, nullptr, 8) & O_ACCMODE);
  }
  return modes;
}

class ReadOnly : public testing::Test {
 protected:
  void SetUp() override {
    test::make_image(path_, 32u << 20, {"-t", "ext4", "-b", "1024"});
    test::fill_image(path_, {.seed = 1, .max_free = 20, .max_used = 20, .skip_percent = 50});
  }

  void use_everything() {
    auto image = Image::open(path_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    const std::vector<int> modes = access_modes(path_);
    EXPECT_GE(modes.size(), 2u) << "ours and libext2fs's";
    for (const int mode : modes) EXPECT_EQ(mode, O_RDONLY);
    EXPECT_TRUE(image->scan_bitmaps([](unsigned, GroupNumber, auto) {}).ok());
    for (std::uint32_t ino = 1; ino <= image->superblock().inodes_count; ++ino) {
      (void)image->inode(ino);
      (void)image->file_extents(ino);
    }
  }

  [[nodiscard]] timespec modified() const {
    struct stat st = {};
    EXPECT_EQ(::stat(path_.c_str(), &st), 0);
    return st.st_mtim;
  }

  void expect_untouched() {
    const std::uint64_t hash = test::hash_file(path_);
    const timespec time = modified();
    use_everything();
    EXPECT_EQ(test::hash_file(path_), hash);
    EXPECT_EQ(modified().tv_sec, time.tv_sec);
    EXPECT_EQ(modified().tv_nsec, time.tv_nsec);
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

TEST_F(ReadOnly, CleanImage) {
  expect_untouched();
}

TEST_F(ReadOnly, JournalThatNeedsRecovery) {
  ASSERT_EQ(test::run({"debugfs", "-w", "-R", "feature needs_recovery", path_}).status, 0);
  expect_untouched();
  const auto image = Image::open(path_);
  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(image->superblock().needs_recovery);
  ASSERT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->warnings().front().find("e2fsck"), std::string::npos);
}

TEST_F(ReadOnly, DamagedGroups) {
  test::edit_descriptor(path_, 2, false, [](test::DescriptorBytes d) { d.data[12] ^= 1; });
  expect_untouched();
}

}  // namespace
}  // namespace e4r::image
