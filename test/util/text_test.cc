// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <filesystem>

#include "util/file.h"
#include "util/text.h"

namespace e4r {
namespace {

TEST(Printable, LeavesNothingThatATerminalWouldObey) {
  EXPECT_EQ(printable("a~ b"), "a~ b");
  EXPECT_EQ(printable("a\n\x1b[2J\xc3\xa4"), "a??[2J??");
  EXPECT_EQ(printable(std::string("\0b", 2)), "?b");
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

TEST(Escaped, NothingIsObeyedAndNothingIsLost) {
  EXPECT_EQ(escape("a~ b/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "a~ b/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(escape("a\n\t\r\x1b[2J\x7f"), "a\\n\\t\\r\\x1b[2J\\x7f");
  EXPECT_EQ(escape("\xc2\x9b"), "\\xc2\\x9b") << "CSI as one C1 character";
  EXPECT_EQ(escape("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right to left from here";
  EXPECT_EQ(escape("\x9b\xc3"), "\\x9b\\xc3") << "no UTF-8";
  EXPECT_EQ(escape("\xed\xa0\x80\xc0\xaf\xf5\x80"), "\\xed\\xa0\\x80\\xc0\\xaf\\xf5\\x80");
  EXPECT_EQ(escape(std::string("\0b", 2)), "\\x00b");
  EXPECT_EQ(valid_utf8("a\x9b\xc3\xa4\x1b\xc3"), "a\xef\xbf\xbd\xc3\xa4\x1b\xef\xbf\xbd");
  EXPECT_EQ(escape_lines("a\nb\x1b\n"), "a\nb\\x1b\n");
}

TEST(TextTable, AlignsAndTrims) {
  TextTable table;
  table.row({"", "a", "bcd"});
  table.rule();
  table.heading("a heading longer than the table is wide");
  table.row({"first", "1", "2"});
  table.row({"x", "1,000"});
  EXPECT_EQ(table.text(),
            "           a  bcd\n"
            "-----------------\n"
            "a heading longer than the table is wide\n"
            "first      1    2\n"
            "x      1,000\n");
}

TEST(File, AppearsWholeOrNotAtAll) {
  const std::string dir = ::testing::TempDir() + "e4replay-file-test";
  std::filesystem::create_directories(dir);
  const std::string path = dir + "/out";
  ASSERT_TRUE(write_output("text", path).ok());
  EXPECT_EQ(*read_file(path), "text");
  ASSERT_TRUE(write_output("", path).ok());
  EXPECT_EQ(*read_file(path), "");
  EXPECT_FALSE(write_output("text", dir + "/none/out").ok());
  EXPECT_FALSE(write_output("text", "/dev/full").ok());
  EXPECT_FALSE(read_file(dir + "/none").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace e4r
