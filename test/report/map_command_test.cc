// SPDX-License-Identifier: GPL-2.0-or-later
// Tests `e4replay map`: compares the picture with e2freefrag and dumpe2fs, and tests its output
// formats and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/file.h"

namespace e4r {
namespace {

namespace json = boost::json;

class MapCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<test::TempDir>();
    test::make_image(image(), 64u << 20, {"-t", "ext4", "-b", "1024"});
    test::fill_image(image(), {.seed = 11, .max_free = 30, .max_used = 30});
  }
  static void TearDownTestSuite() { dir_.reset(); }
  static std::string image() { return dir_->file("image"); }
  static std::string file(const std::string& name) { return dir_->file(name); }

  static test::Outcome map(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"env", "LC_ALL=C.UTF-8", E4REPLAY, "map"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return test::run(argv);
  }
  static json::object document(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--json", "-"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const test::Outcome outcome = map(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out).as_object();
  }
  static std::uint64_t number(const json::value& from, const char* key) {
    return from.as_object().at(key).to_number<std::uint64_t>();
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

 private:
  static std::unique_ptr<test::TempDir> dir_;
};
std::unique_ptr<test::TempDir> MapCommand::dir_;

TEST_F(MapCommand, FreeBlocksOfGroupsAreThoseThatDumpe2fsCounts) {
  // Each of the eight groups of 8,192 blocks has one cell. The last group has one block less.
  const json::object found = document({"--columns", "8", "--rows", "1", image()});
  const auto& cells = found.at("cells").as_array();
  ASSERT_EQ(cells.size(), 8u);
  const test::Outcome dump = test::run({"dumpe2fs", image()});
  std::vector<std::uint64_t> counted;
  for (const std::string& line : lines(dump.out))
    if (const auto at = line.find(" free blocks, "); at != line.npos)
      counted.push_back(std::stoull(line));
  ASSERT_EQ(counted.size(), 8u);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < 8; ++i) all += counted[i];
  EXPECT_EQ(number(found.at("free"), "blocks"), all);
  EXPECT_EQ(number(cells[0], "first_block"), 1u);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(number(cells[i], "free_blocks"), counted[i]) << "group " << i;
}

TEST_F(MapCommand, DrawsOneSignForACell) {
  test::make_image(file("empty"), 64u << 20, {"-t", "ext4", "-b", "1024"});
  const auto drawn = lines(map({"--columns", "32", "--rows", "4", file("empty")}).out);
  ASSERT_EQ(drawn.size(), 3u + 1 + 4);
  EXPECT_NE(drawn[0].find("64.0 MiB, 1.0 KiB blocks, 8 groups"), std::string::npos) << drawn[0];
  EXPECT_NE(drawn[2].find("each character is 512.0 KiB (0.0625 groups)"), std::string::npos)
      << drawn[2];
  EXPECT_EQ(drawn[3], "");
  // Inode tables and the journal are at the start of the disk. Free space is drawn as blanks.
  EXPECT_TRUE(drawn[4].starts_with("   1.0 KiB |█")) << drawn[4];
  EXPECT_EQ(drawn[7].substr(0, 12), "  48.0 MiB |") << drawn[7];
  EXPECT_NE(drawn[7].find("       "), std::string::npos) << drawn[7];
  const auto orders =
      lines(map({"--columns", "32", "--rows", "4", "--by", "order", file("empty")}).out);
  EXPECT_NE(orders[7].find("cccc"), std::string::npos) << "4,096 blocks and more: " << orders[7];
  EXPECT_EQ(orders[4].substr(0, 13), "   1.0 KiB |.");
}

TEST_F(MapCommand, AsciiHasNothingElse) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{E4REPLAY, "map", "--ascii", image()},
        {"env", "-u", "LANG", "LC_ALL=C", E4REPLAY, "map", image()}}) {
    const test::Outcome outcome = test::run(how);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(std::all_of(outcome.out.begin(), outcome.out.end(),
                            [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    EXPECT_NE(outcome.out.find('#'), std::string::npos);
  }
}

TEST_F(MapCommand, WritesAPictureThatXmlToolsRead) {
  const std::string odd = file("a<b>&\"c\n.img");
  std::filesystem::copy_file(image(), odd);
  const test::Outcome outcome = map({odd, "--svg", "-", "--columns", "16", "--rows", "8"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ofstream(file("picture.svg")) << outcome.out;
  const test::Outcome parsed = test::run(
      {"python3", "-c",
       "import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]);"
       "print(sum(1 for r in d.getElementsByTagName('rect') if r.getElementsByTagName('title')))",
       file("picture.svg")});
  EXPECT_EQ(parsed.out, "256\n") << parsed.err;
}

TEST_F(MapCommand, WritesAPageThatHasNamesAsText) {
  const std::string odd = file("a<b>&\"c.img");
  std::filesystem::copy_file(image(), odd);
  const test::Outcome outcome = map({odd, "--html", "-", "--columns", "16", "--rows", "8"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("<!doctype html>"));
  EXPECT_NE(outcome.out.find("</svg>"), std::string::npos);
  EXPECT_NE(outcome.out.find("a&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_EQ(outcome.out.find("a<b>"), std::string::npos);
  EXPECT_EQ(outcome.out.find("<script"), std::string::npos) << "it has no plot";
}

TEST_F(MapCommand, WatchesUntilASignal) {
  const std::string script =
      "\"$0\" map --ascii --watch 50ms \"$1\" >\"$2\" & pid=$!; n=0; "
      "until [ \"$(grep -c 'KiB blocks' \"$2\")\" -ge 3 ] || [ $n = 600 ]; do sleep 0.1; "
      "n=$((n+1)); done; "
      "kill -INT $pid; wait $pid; echo $?; grep -c 'KiB blocks' \"$2\"";
  const test::Outcome outcome = test::run({"sh", "-c", script, E4REPLAY, image(), file("frames")});
  EXPECT_EQ(outcome.out.substr(0, 2), "0\n") << outcome.out << outcome.err;
  EXPECT_GE(std::stoi(outcome.out.substr(2)), 3);
}

TEST_F(MapCommand, WhatIsWrongIsSaidInALine) {
  const auto expect_error = [](const std::vector<std::string>& arguments, int status,
                               const std::string& text) {
    const test::Outcome outcome = map(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  expect_error({image(), "--columns", "1001"}, 2, "at most 1000");
  expect_error({image(), "--watch", "soon"}, 2, "--watch");
  expect_error({image(), "--watch", "0"}, 2, "above 0");
  expect_error({image(), "--watch", "1s", "--json", "-"}, 2, "leave out --svg, --html and --json");
  expect_error({image(), "--by", "size"}, 2, "--by");
  expect_error({file("none")}, 1, "none");
  expect_error({image(), "--svg", image()}, 1, "image");
  expect_error({image(), "--html", image()}, 1, "image");
  expect_error({image(), "--svg", file("x"), "--json", file("x")}, 1, "x");
  EXPECT_FALSE(std::filesystem::exists(file("x")));
}

}  // namespace
}  // namespace e4r
