// SPDX-License-Identifier: GPL-2.0-or-later
// Compares Tables with libext2fs on the same images.
#include "lazyinit/tables.h"

#include <ext2fs/ext2_fs.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/ext2_images.h"
#include "support/lazy_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/temp_dir.h"

namespace e4r::lazyinit {
namespace {

using test::Bytes;
using Access = Target::Access;

struct Open {
  std::unique_ptr<Target> target;
  std::unique_ptr<Tables> tables;
};

Open open_tables(const std::string& path, Access access) {
  auto target = Target::open(path, access);
  if (!target.ok()) throw std::runtime_error(target.error().message);
  Open open{std::move(*target), nullptr};
  auto tables = Tables::open(*open.target, access);
  if (!tables.ok()) throw std::runtime_error(tables.error().message);
  open.tables = std::move(*tables);
  return open;
}

std::string open_error(const std::string& path, Access access) {
  auto target = Target::open(path, access);
  if (!target.ok()) return target.error().message;
  const auto tables = Tables::open(**target, access);
  return tables.ok() ? "" : tables.error().message;
}

class TablesOf : public testing::TestWithParam<test::Shape> {
 protected:
  void SetUp() override { test::make_lazy_image(path_, GetParam()); }
  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

TEST_P(TablesOf, SayWhatLibext2fsSays) {
  const auto open = open_tables(path_, Access::read);
  const auto want = test::reference_groups(path_);
  const auto tables = open.tables->tables();
  ASSERT_EQ(tables.size(), want.size());
  const bool checksums = open.tables->has_group_checksums();
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(tables[i].group, i);
    EXPECT_EQ(tables[i].whole, (ByteRange{want[i].table, want[i].table_length}));
    EXPECT_EQ(tables[i].unused, checksums ? want[i].unused : 0);
    EXPECT_EQ(tables[i].inode_uninit, checksums && (want[i].flags & EXT2_BG_INODE_UNINIT));
    EXPECT_EQ(tables[i].block_uninit, checksums && (want[i].flags & EXT2_BG_BLOCK_UNINIT));
    EXPECT_EQ(tables[i].zeroed, checksums && (want[i].flags & EXT2_BG_INODE_ZEROED));
    EXPECT_EQ(tables[i].unused_part, (ByteRange{want[i].table + want[i].used_part,
                                                want[i].table_length - want[i].used_part}));
  }
}

TEST_P(TablesOf, FlushWritesDescriptorsOnlyAndTheirChecksums) {
  const std::string before = dir_.file("before");
  test::copy_sparse(path_, before);
  {
    const auto open = open_tables(path_, Access::write);
    const auto tables = open.tables->tables();
    for (std::uint32_t group = 0; group < tables.size(); group += group % 5 + 1)
      open.tables->set_zeroed(group, !tables[group].zeroed);
    ASSERT_TRUE(open.tables->flush().ok());
  }
  const auto was = test::reference_groups(before);
  const auto is = test::reference_groups(path_);
  const bool checksums = open_tables(path_, Access::read).tables->has_group_checksums();
  std::vector<bool> flipped(is.size());
  for (std::size_t group = 0; group < is.size(); group += group % 5 + 1) flipped[group] = checksums;
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(is[i].flags ^ was[i].flags, flipped[i] ? EXT2_BG_INODE_ZEROED : 0u) << i;
    EXPECT_TRUE(is[i].checksum_ok) << i;
  }
  const auto allowed = test::reference_descriptor_blocks(path_);
  const std::uint64_t size = std::filesystem::file_size(path_);
  for (const std::uint64_t at : test::changed_blocks(before, path_))
    EXPECT_TRUE(std::any_of(allowed.begin() + 1, allowed.end(),
                            [at](const auto& b) { return b.offset <= at && at < b.end; }))
        << at << " of " << size;
  const auto fsck = test::fsck(path_);
  EXPECT_EQ(fsck.status, 0) << fsck.text;
}

INSTANTIATE_TEST_SUITE_P(Shapes, TablesOf, testing::ValuesIn(test::lazy_shapes()),
                         [](const auto& instance) { return std::string(instance.param.name); });

class TablesRefuse : public testing::Test {
 protected:
  void SetUp() override { test::make_lazy_image(path_, test::lazy_shape("default_1k")); }
  void debugfs(const std::string& command) {
    const auto done = test::run({"debugfs", "-w", "-R", command, path_});
    ASSERT_EQ(done.status, 0) << done.err;
  }
  void expect_refusal(Access access, const std::string& text) {
    const std::uint64_t hash = test::fingerprint(path_);
    EXPECT_NE(open_error(path_, access).find(text), std::string::npos)
        << text << " <> " << open_error(path_, access);
    EXPECT_EQ(test::fingerprint(path_), hash);
  }
  void expect_refusal_to_write(const std::string& text) {
    expect_refusal(Access::write, text);
    EXPECT_EQ(open_error(path_, Access::read), "");
  }
  test::TempDir dir_;
  std::string path_ = dir_.file("image");
};

TEST_F(TablesRefuse, NothingWhenAllIsWell) {
  EXPECT_EQ(open_error(path_, Access::write), "");
}

TEST_F(TablesRefuse, SuperblockChecksum) {
  const test::Patch patch(path_, 1024 + 0x88, Bytes{'x'});  // s_last_mounted
  expect_refusal(Access::read, "superblock");
}

TEST_F(TablesRefuse, DescriptorChecksum) {
  test::edit_descriptor(path_, 3, false, [](test::DescriptorBytes d) { d.data[0x12] ^= 4; });
  expect_refusal(Access::read, "descriptor of group 3 has a wrong checksum");
}

TEST_F(TablesRefuse, TableOutside) {
  test::edit_descriptor(path_, 2, true, [](test::DescriptorBytes d) { d.data[0x0b] = 0x7f; });
  expect_refusal(Access::read, "group 2: its inode table lies outside");
}

TEST_F(TablesRefuse, UsedInodesCountedAsUnused) {
  test::edit_descriptor(path_, 0, true, [](test::DescriptorBytes d) { d.data[0x1d] = 0x10; });
  expect_refusal(Access::read, "group 0: more unused inodes than there are");
}

TEST_F(TablesRefuse, NeverUsedWithInodesInUse) {
  test::edit_descriptor(path_, 0, true, [](test::DescriptorBytes d) { d.data[0x12] |= 1; });
  expect_refusal(Access::read, "group 0: marked as never used");
}

TEST_F(TablesRefuse, BlockBitmapOutside) {
  test::edit_descriptor(path_, 2, true, [](test::DescriptorBytes d) { d.data[0x03] = 0x7f; });
  expect_refusal_to_write("group 2: its block bitmap lies outside");
}

TEST_F(TablesRefuse, InodeBitmapOutside) {
  test::edit_descriptor(path_, 2, true, [](test::DescriptorBytes d) { d.data[0x07] = 0x7f; });
  expect_refusal_to_write("group 2: its inode bitmap lies outside");
}

TEST_F(TablesRefuse, OverlappingTables) {
  test::edit_descriptor(path_, 2, true, [](test::DescriptorBytes d) { ++d.data[0x08]; });
  expect_refusal_to_write("overlap");
}

TEST_F(TablesRefuse, JournalToReplay) {
  test::make_lazy_image(path_, test::lazy_shape("journal"));
  debugfs("feature needs_recovery");
  expect_refusal_to_write("run e2fsck");
}

TEST_F(TablesRefuse, ErrorsOnRecord) {
  debugfs("ssv state 3");
  expect_refusal_to_write("errors on record");
}

TEST_F(TablesRefuse, NotUnmounted) {
  debugfs("ssv state 0");
  expect_refusal_to_write("not cleanly unmounted");
}

TEST_F(TablesRefuse, UnknownFeatures) {
  debugfs("feature FEATURE_R27");
  expect_refusal_to_write("does not know");
}

TEST(TablesMountOptions, AreStoredWithTheSuperblockChecksum) {
  const test::TempDir dir;
  const std::string path = dir.file("image");
  test::make_lazy_image(path, test::lazy_shape("default_1k"));
  {
    const auto open = open_tables(path, Access::write);
    EXPECT_EQ(open.tables->mount_options(), "");
    EXPECT_FALSE(open.tables->set_mount_options(std::string(64, 'x')).ok());
    ASSERT_TRUE(open.tables->set_mount_options("discard,init_itable=7").ok());
    ASSERT_TRUE(open.tables->flush().ok());
  }
  EXPECT_EQ(open_tables(path, Access::read).tables->mount_options(), "discard,init_itable=7");
  const auto dump = test::run({"dumpe2fs", "-h", path});
  EXPECT_NE(dump.out.find("Mount options:            discard,init_itable=7"), std::string::npos)
      << dump.out << dump.err;
  EXPECT_EQ(test::fsck(path).status, 0);
}

}  // namespace
}  // namespace e4r::lazyinit
