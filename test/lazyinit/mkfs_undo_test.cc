// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that mke2fs-lazy also saves the blocks that it overwrites in the undo file of mke2fs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lazyinit/mkfs_case.h"
#include "support/lazy_images.h"
#include "support/process.h"

namespace e4r::lazyinit {
namespace {

namespace fs = std::filesystem;

class MkfsUndo : public MkfsTest {
 protected:
  // Makes an old file system full of data, which mke2fs-lazy then overwrites.
  void SetUp() override {
    fill_with_junk();
    const std::string tree = dir_.file("tree");
    fs::create_directory(tree);
    for (int i = 0; i < 3000; ++i) std::ofstream(tree + "/" + std::to_string(i)) << i;
    ASSERT_EQ(stock({"-q", "-F", "-t", "ext4", "-b", "1024", "-N", "16384", "-d", tree, "-E",
                     "nodiscard,lazy_itable_init=1", path_})
                  .status,
              0);
    before_ = test::fingerprint(path_);
    fs::create_directory(undo_);
  }

  // Runs mke2fs-lazy with `setting` in the environment, and then e2undo.
  void make_and_undo(const std::string& setting, const Words& options, int status = 0) {
    SCOPED_TRACE(setting + " " + options.back());
    Words words = {"env", setting, MKE2FS_LAZY, "-F", "-t", "ext4", "-b", "1024"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(path_);
    const auto made = test::run(words);
    EXPECT_EQ(made.status, status) << made.out << made.err;
    EXPECT_NE(test::fingerprint(path_), before_);
    ASSERT_TRUE(fs::exists(file_)) << made.out;
    expect_clean();
    EXPECT_EQ(look_at(path_).lies, 0);
    const auto undone = test::run({"e2undo", file_, path_});
    EXPECT_EQ(undone.status, 0) << undone.out << undone.err;
    EXPECT_EQ(test::fingerprint(path_), before_);
  }

  const std::string undo_ = dir_.file("undo");
  const std::string file_ = undo_ + "/mke2fs-fs.e2undo";
  std::uint64_t before_ = 0;
};

TEST_F(MkfsUndo, OfItsOwnAccord) {
  for (const std::string init : {"lazy", "zero", "write", "probe", "zero,init_itable=20"})
    make_and_undo("E2FSPROGS_UNDO_DIR=" + undo_, {"-E", "itable_init=" + init});
  make_and_undo("E2FSPROGS_UNDO_DIR=" + undo_, {"-E", "itable_init=prezeroed"}, 1);
  make_and_undo("E2FSPROGS_UNDO_DIR=" + undo_, {"-E", "init_itable=20"});
}

TEST_F(MkfsUndo, AsConfigured) {
  const std::string config = dir_.file("mke2fs.conf");
  for (const std::string& value : {undo_, "\"" + undo_ + "\"  "}) {
    std::ofstream(config) << "[options]\n\tundo_dir = nowhere\n[defaults]\n"
                             "\tbase_features = sparse_super,filetype,ext_attr\n"
                             "\tinode_size = 256\n; undo_dir = nowhere\n\tundo_dir = "
                          << value
                          << "\n[fs_types]\n\text4 = {\n\t\tfeatures = "
                             "has_journal,extent,flex_bg,metadata_csum\n\t}\n";
    make_and_undo("MKE2FS_CONFIG=" + config, {"-E", "itable_init=zero"});
  }
}

TEST_F(MkfsUndo, WhereAsked) {
  for (const std::string init : {"zero", "probe"}) {
    fs::remove(file_);
    make_and_undo("E2FSPROGS_UNDO_DIR=none", {"-z", file_, "-E", "itable_init=" + init});
  }
}

// Ranges that read as zeros are not saved in the undo file. They are zeroed anyway, by the cheapest
// means.
TEST_F(MkfsUndo, HoldsNoZeros) {
  fs::resize_file(path_, 0);
  fs::resize_file(path_, kSize);
  ASSERT_EQ(stock({"-q", "-t", "ext4", "-b", "1024", path_}).status, 0);
  before_ = test::fingerprint(path_);
  make_and_undo("E2FSPROGS_UNDO_DIR=" + undo_, {"-E", "lazy_journal_init=1,itable_init=zero"});
  EXPECT_LT(fs::file_size(file_), 4u << 20);
}

// If the last block of keys in the undo file is full, libext2fs would write beyond its end. In this
// case mke2fs-lazy writes nothing: it does not initialise the tables, and the undo file stays
// valid.
TEST_F(MkfsUndo, AFullBlockOfKeysIsLeftAlone) {
  const std::string padder = dir_.file("mke2fs");
  // This mke2fs pretends that it has written exactly as many keys as fit into a block.
  std::ofstream(padder) << "#!/bin/sh\nmke2fs \"$@\" || exit\n"
                           "printf '\\377\\007\\0\\0\\0\\0\\0\\0' |"
                           " dd of="
                        << file_ << " bs=1 seek=8 conv=notrunc 2>/dev/null\n";
  fs::permissions(padder, fs::perms::owner_all);
  const auto made =
      test::run({"env", "E2FSPROGS_UNDO_DIR=" + undo_, "E4R_MKE2FS=" + padder, MKE2FS_LAZY, "-q",
                 "-F", "-t", "ext4", "-b", "1024", "-E", "itable_init=zero", path_});
  EXPECT_EQ(made.status, 1);
  EXPECT_NE(made.err.find("libext2fs cannot continue the undo file " + file_), std::string::npos)
      << made.err;
  expect_clean();
  EXPECT_EQ(look_at(path_).flagged, 0);
}

}  // namespace
}  // namespace e4r::lazyinit
