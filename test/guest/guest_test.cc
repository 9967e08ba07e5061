// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/guest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "guest/kernel_file.h"
#include "support/temp_dir.h"
#include "util/file.h"
#include "util/parallel.h"

namespace e4r::guest {
namespace {

using namespace std::chrono_literals;

class GuestTest : public testing::Test {
 protected:
  // Makes a copy of the fake kernel whose name selects its behaviour.
  std::string kernel(const std::string& name) {
    std::string path = dir_.file(name);
    std::filesystem::copy_file(FAKE_KERNEL, path);
    return path;
  }
  Boot boot(const std::string& path) {
    Boot out;
    out.kernel = path;
    out.disk = disk_.get();
    return out;
  }
  static e4r_op op(e4r_op_kind kind, std::uint32_t len = 1) {
    e4r_op out = {};
    out.kind = kind;
    out.len = len;
    return out;
  }

  test::TempDir dir_;
  Fd disk_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
};

TEST_F(GuestTest, AnswersInOrderHoweverManyArePosted) {
  const auto guest = Guest::start(boot(kernel("good")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  for (std::uint32_t i = 0; i < 3 * E4R_SLOTS; ++i)
    ASSERT_TRUE((*guest)->post(op(E4R_ALLOCATE)).ok()) << i;
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE, 7));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)->block, 5000u + 3 * E4R_SLOTS);
  EXPECT_EQ((*answer)->len, 7u);
}

TEST_F(GuestTest, ItsProcessEndsWithIt) {
  int pid = 0;
  {
    const auto guest = Guest::start(boot(kernel("good")));
    ASSERT_TRUE(guest.ok()) << guest.error().message;
    const auto text = (*guest)->read_file("pid");
    ASSERT_TRUE(text.ok());
    pid = std::stoi(*text);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(GuestTest, TellsWhatTheKernelSaidBeforeItEnded) {
  const auto guest = Guest::start(boot(kernel("dies")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("lost its way"), std::string::npos)
      << answer.error().message;
  const Status next = (*guest)->post(op(E4R_FREE));
  EXPECT_FALSE(next.ok());
}

// The message names the place of a warning and its callers. The kernel was built from
// mballoc-tree.c, but the message has the name of the file in the tree, mballoc.c.
TEST_F(GuestTest, AWarningIsToldWithItsPlace) {
  const auto guest = Guest::start(boot(kernel("warns")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  Result<const e4r_answer*> answer = error("not asked");
  for (int i = 0; i < 6; ++i) answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_TRUE(is_kernels_fault(answer.error()));
  EXPECT_NE(answer.error().message.find(
                "it ended at an allocation: WARNING: CPU: 0 PID: 1 at fs/ext4/mballoc.c:5571 "
                "ext4_mb_new_blocks+0x1a/0x20; called by ext4_mb_regular_allocator < "
                "ext4_mb_new_blocks"),
            std::string::npos)
      << answer.error().message;
  EXPECT_EQ(answer.error().message.find("kernel_init"), std::string::npos);
}

TEST_F(GuestTest, ErrorsOfTheFileSystemEndIt) {
  const auto guest = Guest::start(boot(kernel("meets-errors")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  Status last;
  for (int i = 0; i < 20 && last.ok(); ++i) last = (*guest)->post(op(E4R_ALLOCATE));
  if (last.ok()) last = (*guest)->settle();
  ASSERT_FALSE(last.ok());
  EXPECT_NE(last.error().message.find("ext4 met an error at an allocation"), std::string::npos)
      << last.error().message;
  EXPECT_FALSE((*guest)->post(op(E4R_ALLOCATE)).ok());
}

// An implausible answer must be an error, never a crash of this program.
TEST_F(GuestTest, AnswersThatCannotBe) {
  for (const char* name : {"odd-error", "odd-errno", "runs-ahead", "runs-back", "shrinks"}) {
    SCOPED_TRACE(name);
    Boot start = boot(kernel(name));
    start.patience = 1s;
    const auto guest = Guest::start(start);
    ASSERT_TRUE(guest.ok()) << guest.error().message;
    Status last;
    for (int i = 0; i < 8 && last.ok(); ++i) {
      const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
      if (!answer.ok()) last = answer.error();
    }
    const bool sealed = std::string_view(name) == "shrinks";
    EXPECT_EQ(last.ok(), sealed);
    EXPECT_TRUE(sealed || is_kernels_fault(last.error()));
  }
  const auto guest = Guest::start(boot(kernel("odd-text")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  const auto text = (*guest)->read_file("mb_stats");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), E4R_TEXT_BYTES);
}

TEST_F(GuestTest, WhatItPrintsIsNotKeptWithoutEnd) {
  Boot start = boot(kernel("floods"));
  start.patience = 120s;
  const auto guest = Guest::start(start);
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("printed without end"), std::string::npos)
      << answer.error().message;
  EXPECT_EQ(answer.error().message.find('\x1b'), std::string::npos);
}

TEST_F(GuestTest, SomebodyWhoWaitsForItCanBeStopped) {
  const auto guest = Guest::start(boot(kernel("hangs")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  int asked = 0;
  const Stoppable stoppable([&asked] { return ++asked == 3; });
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "stopped");
}

TEST_F(GuestTest, AKernelThatHangsIsEnded) {
  Boot start = boot(kernel("hangs"));
  start.patience = 1s;
  const auto guest = Guest::start(start);
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("it has not answered for 1 s at an allocation"),
            std::string::npos)
      << answer.error().message;
}

TEST_F(GuestTest, OneThatNeverBeginsIsEnded) {
  Boot start = boot(kernel("never-ready"));
  start.patience = 1s;
  const auto guest = Guest::start(start);
  ASSERT_FALSE(guest.ok());
  EXPECT_NE(guest.error().message.find("contains no e4replay driver"), std::string::npos)
      << guest.error().message;
}

TEST_F(GuestTest, AProgramThatIsNoKernel) {
  const auto guest = Guest::start(boot("/bin/true"));
  ASSERT_FALSE(guest.ok());
  EXPECT_NE(guest.error().message.find("e4replay kernel build"), std::string::npos)
      << guest.error().message;
}

// The program may end before the process that guards it has joined its group.
TEST_F(GuestTest, AProgramThatEndsAtOnceLeavesNothingToWaitFor) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_FALSE(Guest::start(boot("/bin/true")).ok());
    ASSERT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  }
}

TEST_F(GuestTest, AFailureOfWhatNobodyWaitedForIsToldLater) {
  const auto guest = Guest::start(boot(kernel("free-fails")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  ASSERT_TRUE((*guest)->post(op(E4R_FREE)).ok());
  const auto answer = (*guest)->ask(op(E4R_ALLOCATE));
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("a free ended with: Input/output error"), std::string::npos)
      << answer.error().message;
}

TEST_F(GuestTest, AFileThatCannotBeWritten) {
  const auto guest = Guest::start(boot(kernel("good")));
  ASSERT_TRUE(guest.ok()) << guest.error().message;
  EXPECT_TRUE((*guest)->write_file("/sys/mb_max_to_scan", "3").ok());
  const Status failed = (*guest)->write_file("/sys/no_such", "3");
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("3 to /sys/no_such: No such file"), std::string::npos)
      << failed.error().message;
}

TEST_F(GuestTest, ConsolesAreKeptForWhomWantsThem) {
  const std::string path = kernel("dies");
  const auto use = [&] {
    const auto guest = Guest::start(boot(path));
    ASSERT_TRUE(guest.ok());
    EXPECT_FALSE((*guest)->ask(op(E4R_ALLOCATE)).ok());
  };
  use();
  EXPECT_EQ(kept_consoles(), "");
  keep_consoles();
  use();
  EXPECT_EQ(kept_consoles(),
            "==> " + path + " <==\nEXT4-fs error (device ubda): lost its way\nlast words\n");
}

TEST_F(GuestTest, KernelFilesSayWhatTheyAre) {
  const auto file = read_kernel_file(kernel("good"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->release, "6.1.0-fake");
  EXPECT_EQ(file->criteria, 4u);
  EXPECT_EQ(file->commit, "0123456789abcdef");
  EXPECT_TRUE(file->dirty);
  const auto policy = kernel_policy(dir_.file("good"));
  ASSERT_TRUE(policy.ok());
  EXPECT_EQ((*policy)->name, "kernel:good");
  EXPECT_EQ((*policy)->source, dir_.file("good"));
  EXPECT_EQ((*policy)->ladder.size(), 4u);
  EXPECT_TRUE((*policy)->verified.empty()) << "nobody knows what was patched into it";
  EXPECT_EQ(*policy, *kernel_policy(dir_.file("good")));
  std::filesystem::create_directory(dir_.file("other"));
  const auto namesake = kernel_policy(kernel("other/good"));
  ASSERT_TRUE(namesake.ok());
  EXPECT_EQ((*namesake)->name, "kernel:" + dir_.file("other/good"));
}

// A patched kernel may have a model of its own. The model must have as many criteria as the kernel.
TEST_F(GuestTest, TheModelOfAKernelHasAsManyCriteria) {
  const auto ladder = [&](char criteria) {
    const std::string path = kernel(std::string("of-") + criteria);
    std::string bytes = *read_file(path);
    const std::size_t at = bytes.find(E4R_IDENTITY " protocol=");
    bytes[bytes.find("criteria=", at) + 9] = criteria;
    std::ofstream(path, std::ios::binary) << bytes;
    const auto policy = kernel_policy(path);
    EXPECT_TRUE(policy.ok());
    return (*policy)->ladder.data();
  };
  EXPECT_EQ(ladder('4'), allocator::find_policy("legacy")->ladder.data());
  EXPECT_EQ(ladder('5'), allocator::find_policy("cr1.5")->ladder.data());
  EXPECT_EQ(ladder('9'), allocator::find_policy("legacy")->ladder.data()) << "no model has nine";
}

TEST_F(GuestTest, OptionsOfTheMountStandBehindTheFile) {
  EXPECT_EQ(parse_kernel("dir:x/mine.uml").path, "dir:x/mine.uml");
  const KernelChoice choice = parse_kernel("dir:x/mine.uml:rotalloc:stripe=4");
  EXPECT_EQ(choice.path, "dir:x/mine.uml");
  EXPECT_EQ(choice.mount_options, "rotalloc,stripe=4");
  const std::string odd = kernel("a:b");
  EXPECT_EQ(parse_kernel(odd).path, odd);
  EXPECT_EQ(parse_kernel(odd).mount_options, "");
  const auto policy = kernel_policy(kernel("mine") + ":rotalloc");
  ASSERT_TRUE(policy.ok());
  EXPECT_EQ((*policy)->name, "kernel:mine:rotalloc");
  EXPECT_FALSE(kernel_policy(dir_.file("none") + ":rotalloc").ok());
}

TEST_F(GuestTest, TunablesOfTheTreesOwnStandThereToo) {
  const std::string path = kernel("mine");
  const KernelChoice choice = parse_kernel(path + ":sysfs.mb_window=8:rotalloc:sysfs.mb_seed=a=b");
  EXPECT_EQ(choice.path, path);
  EXPECT_EQ(choice.mount_options, "rotalloc");
  ASSERT_EQ(choice.tunables.size(), 2u);
  EXPECT_EQ(choice.tunables[0].name, "mb_window");
  EXPECT_EQ(choice.tunables[0].value, "8");
  EXPECT_EQ(choice.tunables[1].value, "a=b");
  EXPECT_TRUE(kernel_policy(path + ":sysfs.mb_window=8").ok());
  for (const char* wrong : {":sysfs.mb_window", ":sysfs.mb_window=", ":sysfs.=8"}) {
    const auto refused = kernel_policy(path + wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().message.find("sysfs.NAME=VALUE"), std::string::npos) << wrong;
  }
  const auto refused = kernel_policy(path + ":sysfs.mb_max_to_scan=8");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--set mb_max_to_scan=8"), std::string::npos);
}

TEST_F(GuestTest, OtherFilesAreRefused) {
  for (const auto& [path, words] :
       {std::pair{"/bin/true", "contains no e4replay driver"},
        std::pair{"/etc/passwd", "is not a kernel"}, std::pair{"/nowhere", "No such file"}}) {
    const auto file = read_kernel_file(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_NE(file.error().message.find(words), std::string::npos) << file.error().message;
  }
}

}  // namespace
}  // namespace e4r::guest
