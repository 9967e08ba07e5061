// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/anonymize.h"

#include <gtest/gtest.h>

#include <set>

namespace e4r::capture {
namespace {

trace::Event of_inode(std::uint64_t ino) {
  trace::Event e;
  e.kind = trace::EventKind::allocate_inode;
  e.ino = ino;
  e.parent = 2;
  e.pid = 4711;
  e.dev = trace::make_dev(253, 7);
  e.time_ns = 123456789;
  e.mode = 0100640;
  return e;
}

TEST(Anonymizer, KeepsGroupsAndStreamsOfInodes) {
  AnonymizeOptions options;
  options.inodes_per_group = 64;
  options.inodes_count = 640;
  options.stream_goals = 3;
  Anonymizer scramble(options);
  std::set<std::uint64_t> seen;
  int moved = 0;
  for (std::uint64_t ino = 1; ino <= 640; ++ino) {
    trace::Event e = of_inode(ino);
    scramble.apply(e);
    EXPECT_TRUE(seen.insert(e.ino).second) << ino;
    EXPECT_EQ((e.ino - 1) / 64, (ino - 1) / 64);
    if (ino < 11) {
      EXPECT_EQ(e.ino, ino);
    } else {
      EXPECT_EQ(e.ino % 3, ino % 3);
    }
    moved += e.ino != ino ? 1 : 0;
    EXPECT_EQ(e.parent, 2u);
    EXPECT_EQ(e.mode, 0100000);
    EXPECT_EQ(e.pid, 1u);
    EXPECT_EQ(e.dev, trace::make_dev(8, 0));
    EXPECT_EQ(e.time_ns, ino * 1000);
  }
  EXPECT_GT(moved, 500);
  trace::Event again = of_inode(100);
  scramble.apply(again);
  EXPECT_TRUE(seen.contains(again.ino));
}

TEST(Anonymizer, RenumbersInodesInTheStartMemory) {
  AnonymizeOptions options;
  options.inodes_per_group = 64;
  options.inodes_count = 640;
  Anonymizer scramble(options);
  const std::string text = scramble.start_memory(
      "checkpoint 1\nstreams 2\nof-cpu 100 3 0 1 2 2 0\n"
      "of-inode 100 2 1 16 8 8 0\nof-inode 5 1 1 64 8 8 32\n");
  trace::Event e = of_inode(100);
  scramble.apply(e);
  EXPECT_NE(e.ino, 100u);
  EXPECT_EQ(text, "checkpoint 1\nstreams 2\nof-cpu 100 3 0 1 2 2 0\nof-inode " +
                      std::to_string(e.ino) + " 2 1 16 8 8 0\nof-inode 5 1 1 64 8 8 32\n");
}

TEST(Anonymizer, TakesAnyNumber) {
  for (const std::uint32_t per_group : {0u, 1u, 64u}) {
    AnonymizeOptions options;
    options.inodes_per_group = per_group;
    options.stream_goals = 0;
    options.inodes_count = 1000;
    Anonymizer scramble(options);
    for (const std::uint64_t ino : {std::uint64_t{0}, std::uint64_t{11}, UINT64_MAX}) {
      trace::Event e = of_inode(ino);
      scramble.apply(e);
      if (ino == 0 || ino > 1000) {
        EXPECT_EQ(e.ino, ino);
      }
    }
  }
}

TEST(Anonymizer, KeepsWhatDecidesOfTheTexts) {
  EXPECT_EQ(anonymous_tunables("mb_max_to_scan:200\npossible_cpus:4\n"
                               "/dev/mapper/secret /srv/secret ext4 "
                               "rw,stripe=32,data=writeback,discard,usrjquota=secret,mb_optimize_"
                               "scan=0 0 0\n6.1.0-secret\n"),
            "mb_max_to_scan:200\npossible_cpus:4\n"
            "/dev/disk /mnt ext4 rw,stripe=32,data=writeback,discard,mb_optimize_scan=0 0 0\n");
  EXPECT_TRUE(is_anonymous_text("start/mb_groups"));
  EXPECT_FALSE(is_anonymous_text("start/options"));
  StartFacts facts;
  facts.mount_point = facts.command = facts.mount_options = facts.device_name = "secret";
  facts.time = "2026";
  facts.kernel = "6.1";
  EXPECT_EQ(to_json(anonymous(facts)).find("secret"), std::string::npos);
  EXPECT_EQ(anonymous(facts).kernel, "6.1");
  for (const char* release : {"6.18.44-secret", "6.18.44+", "6.18.44.7-amd64", "6.18.44"}) {
    facts.kernel = release;
    EXPECT_EQ(anonymous(facts).kernel, "6.18.44") << release;
  }
  facts.kernel = "7.3.0-rc1-secret";
  EXPECT_EQ(anonymous(facts).kernel, "7.3.0");
  facts.kernel = "secret";
  EXPECT_EQ(anonymous(facts).kernel, "");
  EndFacts end;
  end.changes = {"was unmounted", "was remounted: +secret"};
  EXPECT_EQ(anonymous(end).changes, (std::vector<std::string>{"was unmounted", "was remounted"}));
}

}  // namespace
}  // namespace e4r::capture
