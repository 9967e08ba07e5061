// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Runs mke2fs-lazy on an image, and inspects the result.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "lazyinit/mkfs.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::lazyinit {

using Words = std::vector<std::string>;

inline test::Outcome lazy(const Words& arguments) {
  Words argv = {MKE2FS_LAZY};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return test::run(argv);
}

inline test::Outcome stock(const Words& arguments) {
  Words argv = {"mke2fs"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return test::run(argv);
}

struct Seen {
  int groups = 0;
  int flagged = 0;
  int lies = 0;     // flagged but not zero
  int nonzero = 0;  // unused parts that are not zero
  bool journal_zero = true;
};

inline Seen look_at(const std::string& path) {
  Seen seen;
  const auto target = Target::open(path, Target::Access::read);
  EXPECT_TRUE(target.ok());
  const auto tables = Tables::open(**target, Target::Access::read);
  EXPECT_TRUE(tables.ok()) << tables.error().message;
  for (const Table& table : (*tables)->tables()) {
    const auto probed = (*target)->probe(table.unused_part.offset, table.unused_part.length);
    const bool zero = probed->content == Content::zeros;
    ++seen.groups;
    seen.flagged += table.zeroed ? 1 : 0;
    seen.lies += table.zeroed && !zero ? 1 : 0;
    seen.nonzero += zero ? 0 : 1;
  }
  const auto journal = journal_ranges(**target);
  EXPECT_TRUE(journal.ok());
  for (const ByteRange& range : *journal)
    seen.journal_zero &= (*target)->probe(range.offset, range.length)->content == Content::zeros;
  return seen;
}

class MkfsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 64u << 20;

  void fill_with_junk() { fill_with_junk(path_); }
  static void fill_with_junk(const std::string& path) {
    constexpr std::uint64_t kPiece = 1u << 20;
    Rng rng(3);
    std::vector<std::uint64_t> words(kPiece / 8);
    for (auto& word : words) word = rng.next() | 1;
    std::ofstream file(path, std::ios::binary);
    for (std::uint64_t at = 0; at < kSize; at += kPiece)
      file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(kPiece));
  }
  void expect_clean() {
    const auto fsck = test::run({"e2fsck", "-fn", path_});
    EXPECT_EQ(fsck.status, 0) << fsck.out << fsck.err;
  }
  test::Outcome make(const std::string& keys, const Words& more = {"-t", "ext4", "-b", "1024"}) {
    Words words = more;
    words.insert(words.end(), {"-E", keys, path_});
    return lazy(words);
  }
  [[nodiscard]] std::uint64_t allocated() const {
    struct stat st = {};
    EXPECT_EQ(::stat(path_.c_str(), &st), 0);
    return static_cast<std::uint64_t>(st.st_blocks) * 512;
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("fs");
};

}  // namespace e4r::lazyinit
