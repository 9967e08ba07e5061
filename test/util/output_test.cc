// SPDX-License-Identifier: GPL-2.0-or-later
// Tests outputs whose name already belongs to an existing file.
#include "util/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>

#include "support/temp_dir.h"
#include "util/file.h"

namespace e4r {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return dir_.file(name); }
  std::string put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_output(text, at(name)).ok());
    return at(name);
  }
  [[nodiscard]] static std::string text(const std::string& path) {
    const auto read = read_file(path);
    return read.ok() ? *read : "(none)";
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_.path()), {}));
  }
  static void expect_refused(const Status& status, const std::string& why) {
    ASSERT_FALSE(status.ok()) << why;
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
  }

  test::TempDir dir_;
};

TEST_F(OutputTest, NothingIsSeenBeforeTheEnd) {
  const std::string path = put("out", "old");
  {
    auto out = Output::create(path);
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE(out->write("new").ok());
    EXPECT_EQ(text(path), "old");
  }
  EXPECT_EQ(text(path), "old");
  EXPECT_EQ(files(), 1u);
  auto out = Output::create(path);
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE(out->write("new").ok());
  ASSERT_TRUE(out->commit().ok());
  EXPECT_EQ(text(path), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputTest, AFileThatNeedsANameIsRemovedUnlessItIsDone) {
  const NewFile named = {.needs_name = true};
  {
    auto out = Output::create(at("out"), OutputKind::file, named);
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(files(), 1u);
    EXPECT_FALSE(fs::exists(at("out")));
  }
  EXPECT_EQ(files(), 0u);
  auto out = Output::create(at("out"), OutputKind::file, named);
  ASSERT_TRUE(out.ok());
  remove_unfinished();  // as a signal handler does
  EXPECT_EQ(files(), 0u);
  auto done = Output::create(at("out"), OutputKind::file, named);
  ASSERT_TRUE(done.ok());
  ASSERT_TRUE(done->write("text").ok());
  ASSERT_TRUE(done->commit().ok());
  remove_unfinished();
  EXPECT_EQ(text(at("out")), "text");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputTest, AnUnfinishedFileCanBeMoved) {
  auto made = Output::create(at("out"), OutputKind::file, {.needs_name = true});
  ASSERT_TRUE(made.ok());
  Output first = *std::move(made);
  auto other = Output::create(at("other"), OutputKind::file, {.needs_name = true});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(files(), 2u);
  first = *std::move(other);
  EXPECT_EQ(files(), 1u);
  ASSERT_TRUE(first.commit().ok());
  EXPECT_TRUE(fs::exists(at("other")));
}

TEST_F(OutputTest, AnExistingFileKeepsItsMode) {
  const std::string path = put("out", "old");
  ::chmod(path.c_str(), 0640);
  ASSERT_TRUE(write_output("new", path).ok());
  struct stat st = {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0640u);
  auto image = Output::create(at("image"), OutputKind::file, {.mode = 0600});
  ASSERT_TRUE(image.ok() && image->commit().ok());
  ASSERT_EQ(::stat(at("image").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
}

TEST_F(OutputTest, SymbolicLinksAreFollowed) {
  fs::create_directory(at("d"));
  const std::string target = put("d/target", "old");
  fs::create_symlink("d/target", at("link"));
  fs::create_symlink("link", at("link-to-link"));
  ASSERT_TRUE(write_output("new", at("link-to-link")).ok());
  EXPECT_TRUE(fs::is_symlink(at("link-to-link")) && fs::is_symlink(at("link")));
  EXPECT_FALSE(fs::is_symlink(target));
  EXPECT_EQ(text(target), "new");
  fs::create_symlink("d/made", at("dangling"));
  ASSERT_TRUE(write_output("text", at("dangling")).ok());
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(text(at("d/made")), "text");
  fs::create_symlink("loop", at("loop"));
  expect_refused(write_output("text", at("loop")), "Too many levels of symbolic links");
}

TEST_F(OutputTest, AFifosReaderGetsWhatIsWritten) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { return read_file(at("fifo")); });
  ASSERT_TRUE(write_output("through", at("fifo")).ok());
  EXPECT_EQ(*reader.get(), "through");
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
  EXPECT_EQ(files(), 1u);
  expect_refused(Outputs().writes(at("fifo"), OutputKind::file), "needs a regular file");
}

TEST_F(OutputTest, DescriptorsAreWrittenWhereTheyStand) {
  const std::string path = at("file");
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::write(fd.get(), "head ", 5), 5);
  for (const char* in : {"/dev/fd", "/proc/self/fd"})
    ASSERT_TRUE(write_output("tail ", fmt::format("{}/{}", in, fd.get())).ok());
  fs::create_symlink(fmt::format("/dev/fd/{}", fd.get()), at("link"));
  ASSERT_TRUE(write_output("end", at("link")).ok());
  EXPECT_EQ(text(path), "head tail tail end");
  const Fd read_only(::open(path.c_str(), O_RDONLY));
  expect_refused(Outputs().writes(fmt::format("/dev/fd/{}", read_only.get())), "Bad file desc");
  expect_refused(Outputs().writes("/dev/fd/1234"), "Bad file descriptor");
}

TEST_F(OutputTest, WhatIsReadIsNotWrittenUnderAnyName) {
  const std::string input = put("input", "precious");
  fs::create_hard_link(input, at("hard"));
  fs::create_symlink("input", at("soft"));
  const Fd fd(::open(input.c_str(), O_RDWR));
  Outputs outputs;
  outputs.reads(input);
  outputs.reads(at("absent"));
  for (const std::string& name : {input, at("hard"), at("soft"), dir_.path() + "/./input",
                                  fmt::format("/dev/fd/{}", fd.get())}) {
    expect_refused(outputs.writes(name), "the same command");
    expect_refused(write_output("text", outputs.name_of(name)), "the same command");
  }
  EXPECT_EQ(text(input), "precious");
  EXPECT_TRUE(outputs.writes(at("absent")).ok());
}

// Another file may get the output's name after the check at the beginning, so the name is checked
// again at the end.
TEST_F(OutputTest, TheNameIsLookedAtAgainAtTheEnd) {
  const std::string input = put("input", "precious");
  Outputs outputs;
  outputs.reads(input);
  for (const NewFile& file : {NewFile{}, NewFile{.needs_name = true}}) {
    const auto begun = [&] {
      fs::remove(at("out"));
      auto out = Output::create(outputs.name_of(at("out")), OutputKind::stream, file);
      EXPECT_TRUE(out.ok() && out->write("text").ok());
      return *std::move(out);
    };
    Output to_input = begun();
    fs::create_hard_link(input, at("out"));
    expect_refused(to_input.commit(), "the same command");
    Output to_fifo = begun();
    ASSERT_EQ(::mkfifo(at("out").c_str(), 0600), 0);
    expect_refused(to_fifo.commit(), "meanwhile");
    EXPECT_TRUE(fs::is_fifo(at("out")));
    Output to_link = begun();
    fs::create_symlink("elsewhere", at("out"));
    expect_refused(to_link.commit(), "meanwhile");
    Output to_directory = begun();
    fs::create_directory(at("out"));
    expect_refused(to_directory.commit(), "Is a directory");
    Output faster = begun();
    put("out", "another run's");
    EXPECT_TRUE(faster.commit().ok());
    EXPECT_EQ(text(at("out")), "text");
  }
  EXPECT_EQ(text(input), "precious");
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputTest, TwoOutputsAreTwoPlaces) {
  put("there", "old");
  fs::create_hard_link(at("there"), at("same"));
  fs::create_symlink("new", at("link"));
  Outputs outputs;
  EXPECT_TRUE(outputs.writes("").ok() && outputs.writes("").ok());
  EXPECT_TRUE(outputs.writes(at("there")).ok());
  expect_refused(outputs.writes(at("same")), "are the same file");
  EXPECT_TRUE(outputs.writes(at("new")).ok());
  expect_refused(outputs.writes(at("link")), "are the same file");
  expect_refused(outputs.writes(dir_.path() + "/./new"), "are the same file");
  EXPECT_TRUE(outputs.writes("-").ok());
  expect_refused(outputs.writes("/dev/stdout"), "are the same file");
  EXPECT_TRUE(outputs.writes("/dev/null").ok() && outputs.writes("/dev/null").ok());
}

TEST_F(OutputTest, WhatCannotBeWrittenIsSaidBeforehand) {
  put("file", "text");
  for (const std::string& name : {at("none/out"), at("file/out"), dir_.path(), at("new/")}) {
    const Status before = Outputs().writes(name);
    ASSERT_FALSE(before.ok()) << name;
    expect_refused(write_output("text", name), before.error().message);
  }
  expect_refused(write_output("text", "/dev/full"), "No space left");
}

// The test makes a device node, since it must not touch the machine's nodes.
TEST_F(OutputTest, DeviceNodesStay) {
  if (::mknod(at("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "not allowed to make device nodes";
  ASSERT_TRUE(write_output("text", at("null")).ok());
  EXPECT_TRUE(fs::is_character_file(at("null")));
  expect_refused(Outputs().writes(at("null"), OutputKind::file), "needs a regular file");
  ASSERT_EQ(::mknod(at("disk").c_str(), S_IFBLK | 0666, makedev(7, 250)), 0);
  for (const OutputKind kind : {OutputKind::stream, OutputKind::file})
    expect_refused(Outputs().writes(at("disk"), kind), "is a block device");
  expect_refused(write_output("text", at("disk")), "is a block device");
  EXPECT_TRUE(fs::is_block_file(at("disk")));
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputTest, AGrowingFileStaysAndIsNotReplaced) {
  {
    auto out = Output::create_growing(at("out"));
    ASSERT_TRUE(out.ok() && out->write("half").ok());
  }
  EXPECT_EQ(text(at("out")), "half");
  const auto again = Output::create_growing(at("out"));
  expect_refused(again.ok() ? Status() : Status(again.error()), "exists already");
  fs::create_symlink("made", at("link"));
  auto linked = Output::create_growing(at("link"));
  ASSERT_TRUE(linked.ok() && linked->commit().ok());
  EXPECT_TRUE(fs::is_regular_file(at("made")));
  auto given_up = Output::create_growing(at("given-up"));
  ASSERT_TRUE(given_up.ok());
  given_up->abandon();
  EXPECT_FALSE(fs::exists(at("given-up")));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  const auto alone = Output::create_growing(at("fifo"));
  expect_refused(alone.ok() ? Status() : Status(alone.error()), "has no reader");
  const Fd reader(::open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  auto fifo = Output::create_growing(at("fifo"));
  ASSERT_TRUE(fifo.ok() && fifo->write("text").ok() && fifo->commit().ok());
  fifo->abandon();
  std::array<char, 8> bytes = {};
  EXPECT_EQ(::read(reader.get(), bytes.data(), bytes.size()), 4);
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
}

TEST_F(OutputTest, AnAnonymousFileLeavesNothing) {
  auto file = anonymous_file(dir_.path());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(files(), 0u);
  ASSERT_EQ(write_all(file->get(), "text"), 0);
  EXPECT_EQ(text(file->path()), "text");
  EXPECT_FALSE(anonymous_file(at("none")).ok());
}

}  // namespace
}  // namespace e4r
