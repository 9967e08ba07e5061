// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the options that mke2fs-lazy accepts, passes on, and refuses.
#include "lazyinit/mkfs_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace e4r::lazyinit {
namespace {

using Words = std::vector<std::string>;

MkfsOptions parsed(const Words& words) {
  const auto options = parse_mkfs_options(words);
  EXPECT_TRUE(options.ok()) << options.error().message;
  return options.ok() ? *options : MkfsOptions{};
}

// An old file does not read as zeros, but zeros that are written to it stay.
constexpr Storage kOldFile = {.reads_as_zeros = false, .zeros_last = true};
constexpr Storage kNewFile = {.reads_as_zeros = true, .zeros_last = true};
constexpr Storage kDevice = {.reads_as_zeros = false, .zeros_last = false};

Words handed_on(const Words& words, const Storage& storage = kOldFile) {
  MkfsOptions options = parsed(words);
  EXPECT_TRUE(add_for_storage(options, storage).ok());
  return options.arguments;
}

std::string refusal(const Words& words) {
  const auto options = parse_mkfs_options(words);
  return options.ok() ? "accepted" : options.error().message;
}

const std::string kLazy = "lazy_itable_init=1,lazy_journal_init=0";

TEST(MkfsOptions, WithoutOurKeysNothingIsTouched) {
  for (const Words& words :
       {Words{}, Words{"-V"}, Words{"a.img", "-t", "ext4", "10M"}, Words{"-qFE", "nodiscard", "x"},
        Words{"-E", "lazy_itable_init=0", "-E", "", "x"}, Words{"--", "-x"},
        Words{"-R", "stride=4", "-n", "x"}, Words{"-S", "-z", "u", "x"}}) {
    EXPECT_EQ(handed_on(words), words);
    EXPECT_FALSE(parsed(words).ours);
  }
}

TEST(MkfsOptions, WhatMke2fsWouldRefuseIsLeftToIt) {
  for (const Words& words : {Words{"x", "-E"}, Words{"-E", "itable_init=zero", "-Y", "x"},
                             Words{"--help-me"}, Words{"-E", "itable_init=lazy", "-b"}}) {
    EXPECT_EQ(handed_on(words), words);
    EXPECT_FALSE(parsed(words).ours);
  }
}

TEST(MkfsOptions, KeysAreTakenFromEveryForm) {
  const Words expected = {"-q", "-E", "nodiscard," + kLazy, "x", "1G"};
  for (const Words& words : {Words{"-q", "-E", "nodiscard,itable_init=zero", "x", "1G"},
                             Words{"x", "1G", "-qE", "itable_init=zero,nodiscard"},
                             Words{"x", "-qEnodiscard,itable_init=zero", "1G"},
                             Words{"-q", "-Eitable_init=zero", "-Enodiscard", "x", "1G"},
                             Words{"-q", "x", "1G", "-E", "nodiscard", "-E", "itable_init=zero"}}) {
    const MkfsOptions options = parsed(words);
    EXPECT_EQ(handed_on(words), expected);
    EXPECT_EQ(options.init, TableInit::zero);
    EXPECT_TRUE(options.quiet);
    EXPECT_EQ(options.device, "x");
  }
}

TEST(MkfsOptions, EveryKeyThatIsCompletedIsTaken) {
  for (const std::string& key : mkfs_keys()) {
    const std::string word = key.ends_with('=') ? key + "5" : key;
    const bool is_init = key.starts_with("itable_init=");
    const char* init = word == "write_unreadable" ? "zero" : "prezeroed";
    const Words words = {"-E", is_init ? word : fmt::format("itable_init={},{}", init, word), "x"};
    EXPECT_TRUE(parsed(words).ours) << word;
    const std::string left = "," + handed_on(words)[1] + ",";
    EXPECT_EQ(left.find("," + word + ","), std::string::npos) << word;
  }
}

// If -E is given several times, mke2fs 1.47.4 uses every list, but 1.47.0 only the last one. Both
// read a single list in the same way.
TEST(MkfsOptions, ListsBecomeOne) {
  EXPECT_EQ(handed_on({"-E", "stride=4", "-q", "-E", "itable_init=probe,nodiscard", "x"}),
            (Words{"-q", "-E", "stride=4,nodiscard," + kLazy, "x"}));
  EXPECT_EQ(handed_on({"-E", "itable_init=probe", "x"}), (Words{"-E", kLazy, "x"}));
  EXPECT_EQ(handed_on({"-R", "stride=4,itable_init=probe", "x"}),
            (Words{"-R", "stride=4," + kLazy, "x"}));
  EXPECT_EQ(handed_on({"-E", "stride=4", "-E", "noinit_itable", "x"}),
            (Words{"-E", "stride=4", "x"}));
}

// If the storage reads as zeros, mke2fs need not write the journal. Otherwise it zeroes the journal
// before the file system exists.
TEST(MkfsOptions, TheJournalIsLeftWhereAllIsZero) {
  MkfsOptions options = parsed({"-E", "itable_init=zero", "x"});
  ASSERT_TRUE(add_for_storage(options, kNewFile).ok());
  EXPECT_EQ(options.arguments, (Words{"-E", "lazy_itable_init=1,lazy_journal_init=1", "x"}));
  EXPECT_TRUE(options.journal);
  for (const Storage& storage : {kOldFile, kDevice}) {
    options = parsed({"-E", "itable_init=zero", "x"});
    ASSERT_TRUE(add_for_storage(options, storage).ok());
    EXPECT_EQ(options.arguments, (Words{"-E", kLazy, "x"}));
    EXPECT_FALSE(options.journal);
  }
}

TEST(MkfsOptions, AWordOnTheJournalStands) {
  for (const Storage& storage : {kNewFile, kOldFile}) {
    MkfsOptions options = parsed({"-E", "itable_init=zero,lazy_journal_init=0", "x"});
    ASSERT_TRUE(add_for_storage(options, storage).ok());
    EXPECT_EQ(options.arguments, (Words{"-E", "lazy_journal_init=0,lazy_itable_init=1", "x"}));
    EXPECT_FALSE(options.journal);
  }
}

TEST(MkfsOptions, WhatIsBelievedIsNotDiscardedFirst) {
  for (const std::string init : {"itable_init=probe", "itable_init=prezeroed"}) {
    const std::string kept = kLazy + ",nodiscard";
    EXPECT_EQ(handed_on({"-E", init, "x"}, kDevice), (Words{"-E", kept, "x"}));
    EXPECT_EQ(handed_on({"-E", init + ",nodiscard", "x"}, kDevice),
              (Words{"-E", "nodiscard," + kLazy, "x"}));
    EXPECT_EQ(handed_on({"-K", "-E", init, "x"}, kDevice), (Words{"-K", "-E", kLazy, "x"}));
    EXPECT_EQ(handed_on({"-E", init + ",trust_discard", "x"}, kDevice), (Words{"-E", kLazy, "x"}));
    EXPECT_EQ(handed_on({"-E", init + ",trust_discard,discard", "x"}, kDevice),
              (Words{"-E", "discard," + kLazy, "x"}));
    EXPECT_EQ(handed_on({"-E", init + ",discard", "x"}, kOldFile),
              (Words{"-E", "discard," + kLazy, "x"}));
    MkfsOptions discard = parsed({"-E", init + ",discard", "x"});
    const Status refused = add_for_storage(discard, kDevice);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              "discard and " + init +
                  ": what x discards may read as zeros now and as old data later: leave out "
                  "discard, or add trust_discard if zeros last on this device");
  }
  EXPECT_EQ(handed_on({"-E", "itable_init=zero", "x"}, kDevice), (Words{"-E", kLazy, "x"}));
}

// systemd-repart and osbuild pass lazy_itable_init to every mke2fs.
TEST(MkfsOptions, WhatIsMadeReadableIsNotDiscarded) {
  for (const std::string init : {"zero", "write", "probe"})
    EXPECT_EQ(handed_on({"-E", fmt::format("itable_init={},write_unreadable", init), "x"}),
              (Words{"-E", kLazy + ",nodiscard", "x"}));
  EXPECT_EQ(handed_on({"-K", "-E", "itable_init=zero,write_unreadable", "x"}),
            (Words{"-K", "-E", kLazy, "x"}));
  const MkfsOptions options =
      parsed({"-d", "root", "-E", "itable_init=zero,write_unreadable", "-q", "--", "-x", "1G"});
  EXPECT_EQ(options.arguments.at(options.root_at.value()), "root");
  EXPECT_EQ(options.arguments.at(options.device_at.value()), "-x");
  EXPECT_EQ(options.arguments.at(options.options_end), "--");
}

TEST(MkfsOptions, Mke2fssOwnWordMayAgree) {
  for (const std::string init : {"lazy", "zero", "discard", "write", "probe", "prezeroed"})
    for (const std::string word : {"lazy_itable_init", "lazy_itable_init=1"})
      EXPECT_EQ(handed_on({"-E", fmt::format("{},itable_init={}", word, init), "x"}),
                (Words{"-E", kLazy, "x"}));
  for (const std::string init : {"zero", "write"})
    EXPECT_EQ(handed_on({"-E", "lazy_itable_init=0", "-E", "itable_init=" + init, "x"}),
              (Words{"-E", kLazy, "x"}));
  EXPECT_EQ(handed_on({"-E", "lazy_itable_init=many,itable_init=zero", "x"}),
            (Words{"-E", "lazy_itable_init=many," + kLazy, "x"}))
      << "mke2fs's to judge";
  EXPECT_EQ(handed_on({"-E", "assume_storage_prezeroed=0,itable_init=zero", "x"}),
            (Words{"-E", "assume_storage_prezeroed=0," + kLazy, "x"}));
}

TEST(MkfsOptions, WhereTheFileSystemStartsIsRead) {
  EXPECT_EQ(parsed({"-E", "offset=1048576,itable_init=zero", "x"}).offset, 1048576u);
  EXPECT_EQ(parsed({"-E", "itable_init=zero,offset=0x1000", "x"}).offset, 4096u);
  EXPECT_EQ(parsed({"-z", "undo", "-E", "itable_init=zero", "x"}).undo_file, "undo");
}

TEST(MkfsOptions, MountOptionsAloneChangeNothingElse) {
  const MkfsOptions options = parsed({"-t", "ext4", "-E", "init_itable=20", "x"});
  EXPECT_EQ(handed_on({"-t", "ext4", "-E", "init_itable=20", "x"}), (Words{"-t", "ext4", "x"}));
  EXPECT_EQ(options.init, TableInit::keep);
  EXPECT_FALSE(options.journal);
  ASSERT_TRUE(options.init_itable.has_value());
  EXPECT_EQ(options.init_itable->text(), "init_itable=20");
  EXPECT_EQ(parsed({"-Enoinit_itable", "x"}).init_itable->text(), "noinit_itable");
  EXPECT_EQ(parsed({"-Einit_itable", "x"}).init_itable->multiplier, 10u);
}

TEST(MkfsOptions, ValuesAreRead) {
  const MkfsOptions options =
      parsed({"-E", "itable_init=prezeroed,verify=full,itable_threads=3", "-n", "x"});
  EXPECT_EQ(options.init, TableInit::prezeroed);
  EXPECT_TRUE(options.verify_all);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_TRUE(options.dry_run);
  EXPECT_FALSE(parsed({"-E", "itable_init=prezeroed,verify=sample", "x"}).verify_all);
  EXPECT_EQ(parsed({"-E", "itable_init=lazy", "x"}).init, TableInit::lazy);
  EXPECT_EQ(parsed({"-E", "itable_init=probe", "x"}).init, TableInit::probe);
}

TEST(MkfsOptions, ADeviceThatLooksLikeAnOptionStaysOne) {
  EXPECT_EQ(handed_on({"-E", "itable_init=zero", "--", "-x", "1G"}),
            (Words{"-E", kLazy, "--", "-x", "1G"}));
}

TEST(MkfsOptions, EmptyValuesSurvive) {
  EXPECT_EQ(handed_on({"-L", "", "-E", "itable_init=zero", "x"}),
            (Words{"-L", "", "-E", kLazy, "x"}));
}

struct Refused {
  Words words;
  std::string message;
};

TEST(MkfsOptions, RefusesInOneLine) {
  const std::string threads_need =
      "itable_threads needs itable_init=zero, discard, write, probe or prezeroed";
  const std::vector<Refused> cases = {
      {{"-E", "itable_init=fast", "x"},
       "itable_init=fast: give lazy, zero, discard, write, probe or prezeroed"},
      {{"-E", "itable_init", "x"},
       "itable_init=: give lazy, zero, discard, write, probe or prezeroed"},
      {{"-E", "itable_speed=3", "x"},
       "unknown extended option 'itable_speed=3': choose from itable_init and itable_threads"},
      {{"-E", "itable_init=zero", "-E", "itable_init=lazy", "x"},
       "itable_init=zero and itable_init=lazy contradict each other: give one"},
      {{"-E", "itable_init=zero,itable_threads=0", "x"},
       "itable_threads=0: give a number from 1 to 64"},
      {{"-E", "itable_threads=2", "x"}, threads_need},
      {{"-E", "itable_init=lazy,itable_threads=2", "x"}, threads_need},
      {{"-E", "itable_init=zero,verify=full", "x"}, "verify needs itable_init=prezeroed"},
      {{"-E", "itable_init=prezeroed,verify=some", "x"},
       "verify=some: give verify=full or verify=sample"},
      {{"-E", "init_itable=x", "y"},
       "init_itable=x: give a whole number from 0 (no pauses) to 2147483647"},
      {{"-E", "init_itable=5,noinit_itable", "x"},
       "init_itable=5 and noinit_itable contradict each other: give one"},
      {{"-E", "itable_init=probe,lazy_itable_init=0", "x"},
       "lazy_itable_init=0 and itable_init=probe contradict each other: give one"},
      {{"-E", "assume_storage_prezeroed=1", "-E", "itable_init=probe", "x"},
       "assume_storage_prezeroed=1 and itable_init=probe contradict each other: give one"},
      {{"-E", "itable_init=zero,trust_discard", "x"},
       "trust_discard needs itable_init=probe or prezeroed"},
      {{"-E", "itable_init=probe,trust_discard=1", "x"}, "trust_discard=1: it takes no value"},
      {{"-E", "itable_init=lazy,write_unreadable", "x"},
       "write_unreadable needs itable_init=zero, write or probe"},
      {{"-E", "itable_init=zero,write_unreadable=1", "x"}, "write_unreadable=1: it takes no value"},
      {{"-E", "itable_init=zero,write_unreadable,discard", "x"},
       "write_unreadable and discard: discarded blocks may become unreadable again: leave out one "
       "of them"},
      {{"-E", "itable_init=probe,write_unreadable,trust_discard", "x"},
       "write_unreadable and trust_discard: discarded blocks may become unreadable again: leave "
       "out one of them"},
      {{"-E", "itable_init=zero,write_unreadable,lazy_journal_init=1", "x"},
       "lazy_journal_init=1 and write_unreadable contradict each other: the journal would be "
       "unreadable: give one"},
      {{"-c", "-E", "itable_init=zero,write_unreadable", "x"},
       "-c and write_unreadable: every block that was never written would count as bad: leave out "
       "one of them"},
      {{"-z", "u", "-E", "itable_init=zero,write_unreadable", "x"},
       "-z and write_unreadable: an undo file cannot keep what cannot be read: leave out one of "
       "them"},
      {{"-S", "-E", "itable_init=zero", "x"},
       "-S rewrites only the superblock and descriptors, and inodes may be in use anywhere: leave "
       "out itable_init=zero"},
      {{"-O", "journal_dev", "-E", "itable_init=zero", "x"},
       "a journal device (-O journal_dev) has no inode tables: leave out itable_init=zero"},
      {{"-z", "undo", "-E", "offset=4096,itable_init=zero", "x"},
       "-z and -E offset: libext2fs cannot continue such an undo file: leave out itable_init=zero"},
      {{"-E", "android_sparse,itable_init=zero", "x"},
       "-E android_sparse: the file would not be laid out like a disk, which itable_init=zero "
       "needs: leave out one of them"},
  };
  for (const Refused& refused : cases) EXPECT_EQ(refusal(refused.words), refused.message);
}

TEST(MkfsOptions, AFeatureTakenBackIsNoReason) {
  EXPECT_EQ(refusal({"-O", "journal_dev,^journal_dev", "-E", "itable_init=zero", "x"}), "accepted");
}

}  // namespace
}  // namespace e4r::lazyinit
