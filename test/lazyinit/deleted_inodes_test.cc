// SPDX-License-Identifier: GPL-2.0-or-later
// Tests tune2fs-lazy on tables with inodes deleted by debugfs, by tune2fs, or by e2fsck.
#include <ext2fs/ext2_fs.h>
#include <fmt/format.h>

#include <fstream>

#include "lazyinit/tool.h"
#include "support/ext2_images.h"

namespace e4r::test {
namespace {

class DeletedInodes : public ToolTest {
 protected:
  // Makes a file system with deleted inodes. All tables are flagged as zero, and e2fsck counts the
  // deleted inodes at the end of a table as unused.
  void make_with_deleted(const std::string& shape) {
    make(shape);
    expect_done(tool({"finish", path_}));
    const Outcome fixed = run({"e2fsck", "-fy", path_});
    ASSERT_LE(fixed.status, 1) << fixed.out;
    first_unused_ = reference_groups(path_)[0].used_bytes / inode_size();
  }
  [[nodiscard]] std::uint64_t inode_size() const {
    const std::string header = run({"dumpe2fs", "-h", path_}).out;
    const std::string key = "Inode size:";
    return std::stoull(header.substr(header.find(key) + key.size()));
  }
  // Runs e2fsck so that it reads the whole first table, as it does when it uses a backup of the
  // descriptors.
  [[nodiscard]] Fsck fsck_of_all() const {
    const std::string all = copy("all");
    edit_descriptor(all, 0, true, [](DescriptorBytes d) {
      d.data[0x1c] = d.data[0x1d] = 0;  // bg_itable_unused
    });
    return fsck(all);
  }
  // Makes debugfs delete the inode with this number. The inode is in an unused part of a table.
  void delete_there(std::uint64_t number) {
    const std::string inode = "<" + std::to_string(number) + ">";
    for (const char* command : {"clri ", "sif "}) {
      const std::string what = std::string(command) + inode;
      const std::string rest = command[0] == 's' ? " dtime 20260101120000" : "";
      ASSERT_EQ(run({"debugfs", "-w", "-R", what + rest, path_}).status, 0);
    }
  }

  std::uint64_t first_unused_ = 0;
};

TEST_F(DeletedInodes, AreNoLieAndE2fsckAgrees) {
  for (const char* shape : {"default_1k", "inode_128", "inode_1024_uninit_bg"}) {
    SCOPED_TRACE(shape);
    make_with_deleted(shape);
    const std::uint64_t number = first_unused_ + 20;
    delete_there(number);
    const Outcome verified = tool({"verify", path_});
    expect_status(verified, 0, ": 0 of ");
    EXPECT_NE(verified.out.find("1 of the flagged groups have deleted inodes ("), std::string::npos)
        << verified.out;
    EXPECT_EQ(fsck_of_all().status, 0) << fsck_of_all().text;
    // The inode is either deleted but with the checksum of another file system, or in use.
    const std::uint64_t at = reference_groups(path_)[0].table + (number - 1) * inode_size();
    const bool checksums = std::string(shape) != "inode_1024_uninit_bg";
    if (checksums) {
      const Bytes was = read_at(path_, at + 0x7c, 1);
      write_at(path_, at + 0x7c, {static_cast<unsigned char>(was[0] ^ 0x55)});
      expect_status(tool({"verify", path_}), 3, ": 1 of ");
      EXPECT_NE(fsck_of_all().status, 0);
      write_at(path_, at + 0x7c, was);
    }
    write_at(path_, at + 0x1a, {1});  // i_links_count
    expect_status(tool({"verify", path_}), 3, fmt::format("(inode {})", number));
    EXPECT_NE(fsck_of_all().status, 0);
    // --fix changes only false flags.
    write_at(path_, at + 0x1a, {0});
    const std::uint64_t hash = fingerprint(path_);
    expect_done(tool({"verify", "--fix=zero", path_}));
    EXPECT_EQ(fingerprint(path_), hash);
    expect_done(tool({"disable", path_}));
    EXPECT_TRUE(groups_not_zero(path_).empty());
    expect_clean(path_);
  }
}

TEST_F(DeletedInodes, OfAUsedFileSystemAfterE2fsck) {
  make("default_1k");
  expect_done(tool({"finish", path_}));
  {
    std::ofstream commands(file("commands"));
    for (int i = 0; i < 300; ++i) commands << "write /dev/null x" << i << "\n";
    for (int i = 0; i < 300; ++i) commands << "rm x" << i << "\n";
  }
  ASSERT_EQ(run({"debugfs", "-w", "-f", file("commands"), path_}).status, 0);
  ASSERT_LE(run({"e2fsck", "-fy", path_}).status, 1);
  const Outcome verified = tool({"verify", path_});
  expect_status(verified, 0, ": 0 of ");
  EXPECT_NE(verified.out.find("have deleted inodes (29"), std::string::npos) << verified.out;
}

TEST_F(DeletedInodes, NothingFlaggedIsSaid) {
  make("default_1k");
  expect_done(tool({"rearm", path_}));
  const Outcome verified = tool({"verify", path_});
  expect_status(verified, 0, "is flagged ITABLE_ZEROED");
  EXPECT_EQ(verified.out.find("0 of 0"), std::string::npos) << verified.out;
}

// A directory of one block that is completely full. tune2fs has no space for the block's checksum,
// and tells the user to run e2fsck -fD.
class FullDirectory : public ToolTest {
 protected:
  void make_full(const std::string& features) {
    make_image(path_, 64 << 20,
               {"-t", "ext4", "-b", "1024", "-O", features, "-E", "lazy_itable_init=1,nodiscard"});
    {
      std::ofstream commands(file("commands"));
      commands << "mkdir full\ncd full\n";
      for (const char c : {'a', 'b', 'c'})
        commands << "write /dev/null " << std::string(252, c) << "\n";
      commands << "write /dev/null " << std::string(212, 'd') << "\ncd /\n";
      for (int i = 0; i < 1500; ++i) commands << "write /dev/null x" << i << "\n";
      for (int i = 300; i < 1500; ++i) commands << "rm x" << i << "\n";
    }
    ASSERT_EQ(run({"debugfs", "-w", "-f", file("commands"), path_}).status, 0);
    ASSERT_LE(run({"e2fsck", "-fp", path_}).status, 1);
    names_ = run({"debugfs", "-R", "ls -p /full", path_}).out;
    ASSERT_NE(names_.find("dddd"), std::string::npos);
  }
  std::string names_;
};

TEST_F(FullDirectory, EnableSaysWhatTune2fsAsksForAndLeavesNoLie) {
  for (const char* features : {"^metadata_csum,^uninit_bg", "^metadata_csum,uninit_bg"}) {
    SCOPED_TRACE(features);
    make_full(features);
    const Outcome first = tool({"enable", "--feature", "metadata_csum", path_});
    expect_status(first, 1, "run e2fsck -fyD " + path_ + ", then the same command again");
    EXPECT_NE(first.out.find("tune2fs: "), std::string::npos) << first.out;
    EXPECT_NE(first.out.find("Please run e2fsck -fD"), std::string::npos) << first.out;
    EXPECT_EQ(first.err.find("unmounted"), std::string::npos) << first.err;
    for (const ReferenceGroup& group : reference_groups(path_))
      EXPECT_EQ(group.flags & EXT2_BG_INODE_ZEROED, 0u);
    for (const DescriptorCopy& copy : reference_descriptor_copies(path_))
      for (const auto flags : copy.flags)
        EXPECT_EQ(flags & EXT2_BG_INODE_ZEROED, 0u) << "at byte " << copy.bytes.offset;
    ASSERT_LE(run({"e2fsck", "-fyD", path_}).status, 1);
    expect_done(tool({"enable", "--feature", "metadata_csum", path_}));
    expect_clean(path_);
    // A command that flags a table must also zero it.
    expect_done(tool({"finish", path_}));
    EXPECT_TRUE(groups_not_zero(path_).empty());
    expect_done(tool({"verify", path_}));
    expect_clean(path_);
    EXPECT_NE(run({"debugfs", "-R", "ls -p /full", path_}).out.find("dddd"), std::string::npos);
  }
}

}  // namespace
}  // namespace e4r::test
