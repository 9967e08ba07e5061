// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/workload.h"

#include <gtest/gtest.h>

#include <numeric>

#include "age/ager.h"
#include "age/punch.h"
#include "app/setups.h"
#include "support/model.h"

namespace e4r::age {
namespace {

using Kind = Operation::Kind;
constexpr FileLimits kLimits = {4096, 20};

std::vector<Operation> operations_of(std::string_view text) {
  auto read = ListedWorkload::read(text, "list", kLimits);
  EXPECT_TRUE(read.ok()) << read.error().message;
  std::vector<Operation> out;
  if (!read.ok()) return out;
  for (Operation operation; (*read)->next(operation);) out.push_back(operation);
  return out;
}

std::string refusal_of(std::string_view text) {
  const auto read = ListedWorkload::read(text, "list", kLimits);
  return read.ok() ? "" : read.error().message;
}

TEST(ListedWorkload, ReadsEachKind) {
  const std::string text =
      "w 1 4096\na 1 100\nr 1\nW 1 8192 1\nD 1 0 4096\nf 2 0 65536\nk 2 65536 65536\np 2 4096 "
      "4096\ny 1\nc 1\ns\n";
  std::string again;
  for (const Operation& operation : operations_of(text)) again += text_of(operation) + "\n";
  EXPECT_EQ(again, text);
}

TEST(ListedWorkload, EndsWithASync) {
  const std::vector<Operation> read = operations_of("w 0 1");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read.back().kind, Kind::sync);
}

TEST(ListedWorkload, CountsFilesAndBytes) {
  const auto read = ListedWorkload::read("w 0 10\nw 3 5\nr 3\nw 3 5\nr 9\n", "list", kLimits);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)->files(), 2u);
  EXPECT_EQ((*read)->bytes_wanted(), 20u);
  for (Operation operation; (*read)->next(operation);) continue;
  EXPECT_EQ((*read)->bytes_written(), 20u);
}

TEST(ListedWorkload, RefusesWhatIsNoOperation) {
  for (const std::string_view line :
       {"", "x", "w", "w 1", "w 1 ", "w 1 -1", "w 1 1 1", "w  1 1", "w 1 1 ", "s 1", "W 1 1",
        "W 1 0 0", "r 1 1", "w 4294967296 1", "w 1 18446744073709551616", "\tw 1 1", "\xff"})
    EXPECT_NE(refusal_of("s\n" + std::string(line) + "\ns\n").find("list: line 2: "),
              std::string::npos)
        << line;
  EXPECT_NE(refusal_of("").find("has no operations"), std::string::npos);
}

TEST(ListedWorkload, RefusesWhatNoFileCanDo) {
  EXPECT_NE(refusal_of("w 20 1").find("slots 0 to 19"), std::string::npos);
  EXPECT_NE(refusal_of("w 1 1\nw 1 1").find("line 2: slot 1: is not empty"), std::string::npos);
  EXPECT_NE(refusal_of("w 1 1\nW 1 0 1").find("at its end"), std::string::npos);
  EXPECT_NE(refusal_of("W 1 0 1\na 1 1").find("at offsets"), std::string::npos);
  EXPECT_EQ(refusal_of("W 1 0 1\nr 1\na 1 1"), "");
  EXPECT_NE(refusal_of("w 1 17592186044417").find("at most"), std::string::npos);
  EXPECT_NE(refusal_of("w 1 17592186044416\na 1 1").find("at most"), std::string::npos);
  EXPECT_NE(refusal_of("W 1 18446744073709551615 1").find("at most"), std::string::npos);
  std::string much;
  for (int i = 0; i < (1 << 16) + 1; ++i) much += "r 1\nw 1 281474976710656\n";
  const auto read = ListedWorkload::read(much, "list", {1 << 16, 20});
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("more bytes than can be counted"), std::string::npos);
}

// The workload draws operations and writes them to a list. Performing the operations of the list
// must lead to the same decisions.
TEST(ListedWorkload, DoesWhatWasWrittenDown) {
  test::ModelFs fs(test::model_shape("two_groups"));
  const state::Source& source = fs.source();
  AgeingWorkloadOptions options;
  options.clusters = source.geometry.blocks_count;
  options.cluster_size = source.geometry.block_size();
  options.slots = 20;
  options.until = {0.6, 3};
  auto drawn = AgeingWorkload::create(*find_profile("agrawal"), options);
  ASSERT_TRUE(drawn.ok());
  std::string text;
  const auto hash_of = [&](Drawing& drawing, bool writes) {
    auto decider =
        app::make_decider(*allocator::find_policy("linux-7.3"),
                          allocator::defaults_for(source.geometry), {source, {}, {}}, true);
    AgerOptions ager_options;
    ager_options.inodes.resize(20);
    std::iota(ager_options.inodes.begin(), ager_options.inodes.end(), 12u);
    Ager ager(**decider, source, ager_options);
    for (Operation operation; drawing.next(operation);) {
      EXPECT_TRUE(ager.apply(operation).ok());
      if (writes) text += text_of(operation) + "\n";
    }
    EXPECT_GT(ager.tally().requests, 100u);
    return ager.tally().hash.value();
  };
  const std::uint64_t hash = hash_of(*drawn, true);
  auto listed = ListedWorkload::read(text, "list", kLimits);
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  EXPECT_EQ(hash_of(**listed, false), hash);
}

}  // namespace
}  // namespace e4r::age
