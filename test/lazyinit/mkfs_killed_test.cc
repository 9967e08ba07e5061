// SPDX-License-Identifier: GPL-2.0-or-later
// Kills mke2fs-lazy, or the mke2fs that it runs, at every system call. Afterwards the image must
// have no file system, or one whose journal has no old data.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lazyinit/disk.h"
#include "lazyinit/loop_device.h"
#include "lazyinit/mkfs_case.h"
#include "support/process.h"
#include "util/fd.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

namespace fs = std::filesystem;

// A system call of a program, numbered from 1 among the calls of that name.
struct Call {
  std::string name;
  int number;
};

std::vector<Call> calls_in(const std::string& log) {
  std::map<std::string, int> counts;
  std::vector<Call> calls;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find('('));
    const bool is_call =
        name.size() < line.size() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
    if (!is_call || name == "execve") continue;  // before execve, the program does not run yet
    calls.push_back({name, ++counts[name]});
  }
  return calls;
}

enum class Victim { mke2fs_lazy, mke2fs };

class MkfsKilled : public MkfsTest {
 protected:
  void SetUp() override {
    fill_with_junk();
    fs::copy_file(path_, junk_);
    fs::resize_file(junk_, 16u << 20);
  }

  // Runs mke2fs-lazy. Puts `strace_words` before its command or before the command of mke2fs,
  // depending on the victim.
  test::Outcome make_under(const Words& strace_words, Victim victim, const std::string& device,
                           const std::string& keys) {
    Words words = {"strace"};
    words.insert(words.end(), strace_words.begin(), strace_words.end());
    if (victim == Victim::mke2fs) {
      std::ofstream script(wrapper_);
      script << "#!/bin/sh\nexec";
      for (const std::string& word : words) script << " " << word;
      script << " mke2fs \"$@\"\n";
      script.close();
      fs::permissions(wrapper_, fs::perms::owner_all);
      words = {"env", "E4R_MKE2FS=" + wrapper_};
    }
    words.insert(words.end(), {MKE2FS_LAZY, "-q", "-F", "-t", "ext4", "-b", "1024", "-E",
                               keys + ",itable_threads=1", device});
    return test::run(words);
  }

  // Waits until mke2fs has ended. It inherits the lock of mke2fs-lazy, and continues to run when
  // mke2fs-lazy is killed.
  void wait_for_the_last() {
    const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(fd.get(), LOCK_EX), 0);
  }

  [[nodiscard]] bool has_file_system() const {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(1024 + 56);
    return file.get() == 0x53 && file.get() == 0xef;
  }

  // Returns the number of runs that left a file system with old blocks in its journal.
  int old_journals(Victim victim, const std::string& keys) {
    const std::string log = dir_.file("calls");
    fs::copy_file(junk_, path_, fs::copy_options::overwrite_existing);
    EXPECT_EQ(make_under({"-o", log}, victim, path_, keys).status, 0);
    std::vector<Call> calls = calls_in(log);
    EXPECT_GE(calls.size(), 100u);
    const std::uint64_t seed = test::seed_of_run();
    Rng rng(seed);
    for (std::size_t i = calls.size() - 1; i > 0; --i) std::swap(calls[i], calls[rng.below(i + 1)]);
    calls.resize(static_cast<std::size_t>(test::points_of_run(static_cast<int>(calls.size()))));
    int old = 0;
    for (const auto& [name, number] : calls) {
      SCOPED_TRACE(fmt::format("seed {}, killed in {} {}", seed, name, number));
      fs::copy_file(junk_, path_, fs::copy_options::overwrite_existing);
      const std::string inject = fmt::format("inject={}:signal=KILL:when={}", name, number);
      const auto killed =
          make_under({"-o", "/dev/null", "-e", "trace=" + name, "-e", inject}, victim, path_, keys);
      EXPECT_EQ(killed.status, 128 + SIGKILL) << killed.err;
      wait_for_the_last();
      if (!has_file_system()) continue;
      const Seen seen = look_at(path_);
      EXPECT_EQ(seen.lies, 0);
      old += seen.journal_zero ? 0 : 1;
    }
    return old;
  }

  const std::string junk_ = dir_.file("junk");
  const std::string wrapper_ = dir_.file("mke2fs");
};

TEST_F(MkfsKilled, TheJournalHoldsNothingOld) {
  for (const std::string keys : {"itable_init=zero", "nodiscard,itable_init=zero"})
    EXPECT_EQ(old_journals(Victim::mke2fs_lazy, keys), 0) << keys;
}

TEST_F(MkfsKilled, NorWhenMke2fsIs) {
  EXPECT_EQ(old_journals(Victim::mke2fs, "nodiscard,itable_init=zero"), 0);
}

// Shows that the cases above can detect old journal blocks: with lazy_journal_init=1, they occur.
TEST_F(MkfsKilled, AWordOnTheJournalIsTakenAtItsOwnRisk) {
  EXPECT_GT(old_journals(Victim::mke2fs_lazy, "nodiscard,lazy_journal_init=1,itable_init=zero"), 0);
}

// Kills mke2fs-lazy at the entry of a system call. Then e2fsck must accept the result, no flag may
// be false, and tune2fs-lazy must finish the work.
TEST_F(MkfsKilled, KilledWhileZeroing) {
  ASSERT_EQ(stock({"-q", "-t", "ext4", "-b", "1024", "-g", "2048", "-N", "65536", "-O", "^flex_bg",
                   "-E", "nodiscard,lazy_itable_init=1", path_})
                .status,
            0);
  const std::string unfinished = dir_.file("unfinished");
  std::filesystem::copy_file(path_, unfinished);
  const std::string log = dir_.file("calls");
  ASSERT_EQ(test::run({"strace", "-o", log, "-e", "trace=fallocate,pwrite64,fdatasync,fsync",
                       TUNE2FS_LAZY, "finish", path_})
                .status,
            0);
  std::vector<Call> calls = calls_in(log);
  ASSERT_GE(calls.size(), 32u + 1 + 2) << "a range for each group, descriptors, and two flushes";
  const std::uint64_t seed = test::seed_of_run();
  Rng rng(seed);
  for (std::size_t i = calls.size() - 1; i > 0; --i) std::swap(calls[i], calls[rng.below(i + 1)]);
  calls.resize(static_cast<std::size_t>(test::points_of_run(static_cast<int>(calls.size()))));
  for (const auto& [name, number] : calls) {
    SCOPED_TRACE(fmt::format("seed {}, killed in {} {}", seed, name, number));
    std::filesystem::copy_file(unfinished, path_,
                               std::filesystem::copy_options::overwrite_existing);
    const auto killed = test::run({"strace", "-o", "/dev/null", "-e", "trace=" + name, "-e",
                                   fmt::format("inject={}:signal=KILL:when={}", name, number),
                                   TUNE2FS_LAZY, "finish", path_});
    ASSERT_EQ(killed.status, 128 + SIGKILL) << killed.err;
    ASSERT_NO_FATAL_FAILURE(expect_clean());
    ASSERT_EQ(look_at(path_).lies, 0);
    const auto finished = test::run({TUNE2FS_LAZY, "finish", path_});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const Seen seen = look_at(path_);
    ASSERT_EQ(seen.flagged, seen.groups);
    ASSERT_EQ(seen.lies, 0);
  }
}

}  // namespace
}  // namespace e4r::lazyinit
