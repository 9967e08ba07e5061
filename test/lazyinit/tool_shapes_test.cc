// SPDX-License-Identifier: GPL-2.0-or-later
// Tests tune2fs-lazy on all shapes of file systems: where it writes, and what e2fsck, dumpe2fs and
// debugfs then report.
#include <ext2fs/ext2_fs.h>

#include <algorithm>
#include <boost/json.hpp>

#include "lazyinit/tool.h"

namespace e4r::test {
namespace {

namespace json = boost::json;

bool has_checksums(const std::string& path) {
  const std::string features = run({"dumpe2fs", "-h", path}).out;
  return features.find("metadata_csum") != std::string::npos ||
         features.find("uninit_bg") != std::string::npos;
}

// The parts of an image that a command may change.
struct Allowed {
  std::vector<Bytes64> ranges;
  [[nodiscard]] bool covers(std::uint64_t at) const {
    return std::any_of(ranges.begin(), ranges.end(),
                       [at](const Bytes64& r) { return r.offset <= at && at < r.end; });
  }
};

// Returns the primary descriptors and the superblock. With `tables`, also returns the unused part
// of each table.
Allowed allowed_parts(const std::string& path, bool tables) {
  Allowed allowed{reference_descriptor_blocks(path)};
  if (!tables) return allowed;
  for (const ReferenceGroup& group : reference_groups(path))
    allowed.ranges.push_back({group.table + group.used_part, group.table + group.table_length});
  return allowed;
}

// Returns the parts of allowed_parts() and the copies of descriptors.
Allowed allowed_for_retraction(const std::string& path) {
  Allowed allowed = allowed_parts(path, false);
  for (const DescriptorCopy& copy : reference_descriptor_copies(path))
    allowed.ranges.push_back(copy.bytes);
  return allowed;
}

// A cleared flag must also be cleared in the copies, or it would return when a program uses a copy.
void expect_no_flag_in_copies(const std::string& path, std::size_t from) {
  for (const DescriptorCopy& copy : reference_descriptor_copies(path))
    for (std::size_t i = 0; i < copy.flags.size(); ++i) {
      const bool flagged = (copy.flags[i] & EXT2_BG_INODE_ZEROED) != 0;
      EXPECT_FALSE(flagged && copy.first_group + i >= from)
          << "group " << copy.first_group + i << " at byte " << copy.bytes.offset;
    }
}

void expect_writes_within(const std::string& before, const std::string& after,
                          const Allowed& allowed) {
  for (const std::uint64_t at : changed_blocks(before, after))
    EXPECT_TRUE(allowed.covers(at)) << "byte " << at << " was written";
}

class OnShape : public ToolOnShape {};

TEST_P(OnShape, StatusCountsWhatLibext2fsReads) {
  const auto outcome = tool({"status", "--json", path_});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json::value document = json::parse(outcome.out);
  const json::value& counts = document.at("inode_tables");
  const auto groups = reference_groups(path_);
  const bool checksums = has_checksums(path_);
  std::int64_t inode_uninit = 0, block_uninit = 0, zeroed = 0, unused = 0, left = 0;
  for (const ReferenceGroup& group : groups) {
    if (!checksums) break;
    inode_uninit += (group.flags & EXT2_BG_INODE_UNINIT) != 0;
    block_uninit += (group.flags & EXT2_BG_BLOCK_UNINIT) != 0;
    zeroed += (group.flags & EXT2_BG_INODE_ZEROED) != 0;
    unused += group.unused;
    if ((group.flags & EXT2_BG_INODE_ZEROED) == 0)
      left += static_cast<std::int64_t>(group.table_length - group.used_part);
  }
  EXPECT_EQ(counts.at("groups").as_int64(), static_cast<std::int64_t>(groups.size()));
  EXPECT_EQ(counts.at("inode_uninit").as_int64(), inode_uninit);
  EXPECT_EQ(counts.at("block_uninit").as_int64(), block_uninit);
  EXPECT_EQ(counts.at("itable_zeroed").as_int64(), zeroed);
  EXPECT_EQ(counts.at("itable_unused").as_int64(), unused);
  EXPECT_EQ(counts.at("bytes_to_zero").as_int64(), left);
}

TEST_P(OnShape, FinishZeroesUnusedPartsAndNothingElse) {
  fill_unused(path_, FillFrom::first_unused_block);
  const std::string before = copy("before");
  const auto header = run({"dumpe2fs", "-h", path_}).out;
  const auto finished = tool({"finish", path_, "--threads", "2"});
  if (!has_checksums(path_)) {
    expect_status(finished, 1, "neither uninit_bg nor metadata_csum");
    EXPECT_EQ(fingerprint(path_), fingerprint(before));
    return;
  }
  expect_done(finished);
  for (const ReferenceGroup& group : reference_groups(path_)) {
    EXPECT_NE(group.flags & EXT2_BG_INODE_ZEROED, 0u);
    EXPECT_TRUE(group.checksum_ok);
  }
  EXPECT_TRUE(groups_not_zero(path_).empty());
  expect_writes_within(before, path_, allowed_parts(before, true));
  EXPECT_EQ(run({"dumpe2fs", "-h", path_}).out, header);
  EXPECT_EQ(listing(path_), listing(before));
  expect_clean(path_);
  expect_status(tool({"verify", path_}), 0, ": 0 of ");
}

TEST_P(OnShape, VerifyFindsAndFixesLies) {
  if (!has_checksums(path_)) {
    expect_status(tool({"verify", path_}), 1, "neither uninit_bg nor metadata_csum");
    return;
  }
  expect_done(tool({"finish", path_}));
  fill_unused(path_, FillFrom::first_unused_block);
  const auto lies = groups_not_zero(path_);
  const std::string before = copy("before");
  const auto verified = tool({"verify", path_});
  EXPECT_EQ(verified.status, 3) << verified.err;
  EXPECT_EQ(std::count(verified.out.begin(), verified.out.end(), '\n'),
            static_cast<std::ptrdiff_t>(lies.size()) + 1);
  EXPECT_EQ(fingerprint(path_), fingerprint(before)) << "verify alone writes nothing";
  expect_done(tool({"verify", "--fix", path_}));
  expect_writes_within(before, path_, allowed_for_retraction(before));
  const auto groups = reference_groups(path_);
  for (const std::uint32_t group : lies)
    EXPECT_EQ(groups[group].flags & EXT2_BG_INODE_ZEROED, 0u) << group;
  expect_clean(path_);
  const std::string zeroed = file("before");
  expect_done(tool({"verify", "--fix=zero", zeroed}));
  EXPECT_TRUE(groups_not_zero(zeroed).empty());
  expect_done(tool({"verify", zeroed}));
  expect_clean(zeroed);
}

TEST_P(OnShape, RearmClearsFlagsInTheRangeOnly) {
  if (!has_checksums(path_)) {
    expect_status(tool({"rearm", path_}), 1, "neither uninit_bg nor metadata_csum");
    return;
  }
  expect_done(tool({"finish", path_}));
  const std::string before = copy("before");
  const auto was = reference_groups(path_);
  const std::size_t from = was.size() / 2;
  expect_done(tool({"rearm", path_, "--groups", std::to_string(from) + "-"}));
  const auto is = reference_groups(path_);
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(was[i].flags ^ is[i].flags, i < from ? 0u : EXT2_BG_INODE_ZEROED) << i;
    EXPECT_TRUE(is[i].checksum_ok) << i;
  }
  expect_writes_within(before, path_, allowed_for_retraction(before));
  expect_no_flag_in_copies(path_, from);
  expect_clean(path_);
}

TEST_P(OnShape, SetWritesTheSuperblockOnly) {
  const std::string before = copy("before");
  expect_done(tool({"set", "init_itable=42", path_}));
  EXPECT_NE(run({"dumpe2fs", "-h", path_}).out.find("init_itable=42"), std::string::npos);
  expect_writes_within(before, path_, Allowed{{{1024, 2048}}});
  expect_clean(path_);
}

// enable must count unused inodes from the bitmaps. Stock tune2fs counts none, and assumes that
// every table is zeroed.
TEST_P(OnShape, EnableCountsUnusedInodesFromTheBitmaps) {
  const std::string before = listing(path_);
  const auto enabled = tool({"enable", path_});
  expect_done(enabled);
  const auto groups = reference_groups(path_);
  const auto inodes = std::stoul([&] {
    const std::string header = run({"dumpe2fs", "-h", path_}).out;
    const std::string key = "Inodes per group:";
    return header.substr(header.find(key) + key.size());
  }());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(groups[i].checksum_ok);
    EXPECT_EQ(groups[i].unused, inodes - groups[i].last_used);
    EXPECT_EQ((groups[i].flags & EXT2_BG_INODE_UNINIT) != 0, groups[i].last_used == 0);
  }
  EXPECT_TRUE(has_checksums(path_));
  EXPECT_EQ(listing(path_), before);
  expect_clean(path_);
  // After enable, no program may take the contents of the unused parts for inodes.
  fill_unused(path_, FillFrom::first_unused_block);
  expect_clean(path_);
  expect_done(tool({"finish", path_}));
  expect_clean(path_);
}

TEST_P(OnShape, DisableLeavesNothingStale) {
  if (!has_checksums(path_)) {
    expect_status(tool({"disable", path_}), 1, "neither uninit_bg nor metadata_csum");
    return;
  }
  const std::string before = listing(path_);
  for (const FillWith with : {FillWith::inodes, FillWith::random}) {
    const std::string image = copy("filled");
    fill_unused(image, FillFrom::first_unused_inode, with);
    expect_clean(image);
    expect_done(tool({"disable", image}));
    EXPECT_FALSE(has_checksums(image));
    EXPECT_EQ(listing(image), before);
    expect_clean(image);
  }
}

// Shows why disable is needed: if the tables contain random bytes, stock tune2fs 1.47.0 leaves
// invalid inodes when it clears metadata_csum. (If it clears only uninit_bg, it zeroes the inodes
// that are free in the bitmaps.)
class OnChecksummedShape : public ToolOnShape {};

TEST_P(OnChecksummedShape, StockTune2fsLeavesStaleInodes) {
  fill_unused(path_, FillFrom::first_unused_block, FillWith::random);
  expect_clean(path_);
  (void)run({"tune2fs", "-O", "^metadata_csum,^uninit_bg", path_});
  EXPECT_FALSE(has_checksums(path_));
  EXPECT_NE(fsck(path_).status, 0);
}

TEST_P(OnShape, DryRunsWriteNothing) {
  fill_unused(path_, FillFrom::first_unused_inode);
  const std::uint64_t hash = fingerprint(path_);
  const int done = has_checksums(path_) ? 0 : 1;
  EXPECT_EQ(tool({"finish", path_, "--dry-run"}).status, done);
  EXPECT_EQ(tool({"finish", path_, "--dry-run", "--probe"}).status, done);
  EXPECT_EQ(tool({"rearm", path_, "--dry-run"}).status, done);
  EXPECT_EQ(tool({"verify", path_, "--fix=zero", "--dry-run"}).status, done);
  EXPECT_EQ(tool({"disable", path_, "--dry-run"}).status, done);
  expect_done(tool({"enable", path_, "--dry-run"}));
  expect_done(tool({"set", "noinit_itable", path_, "--dry-run"}));
  EXPECT_EQ(fingerprint(path_), hash);
}

// Shapes with metadata_csum.
std::vector<Shape> checksummed_shapes() {
  std::vector<Shape> shapes;
  for (const Shape& shape : lazy_shapes())
    if (shape.options[1] == "ext4" &&
        std::none_of(shape.options.begin(), shape.options.end(), [](const std::string& option) {
          return option.find("^metadata_csum") != std::string::npos;
        }))
      shapes.push_back(shape);
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnChecksummedShape, testing::ValuesIn(checksummed_shapes()),
                         [](const auto& instance) { return std::string(instance.param.name); });
INSTANTIATE_TEST_SUITE_P(Shapes, OnShape, testing::ValuesIn(lazy_shapes()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace e4r::test
