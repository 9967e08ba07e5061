// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <numeric>

#include "age/ager.h"
#include "app/setups.h"
#include "support/model.h"

namespace e4r::age {
namespace {

constexpr std::uint32_t kSlots = 60;

struct Case {
  const test::ModelShape* shape;
  const allocator::Policy* policy;
  Writing writing;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const test::ModelShape& shape : test::model_shapes()) {
    if (!shape.extents) continue;
    const auto policies = allocator::policies();
    // Each shape is tested with two policies, so that every policy is tested with some shape.
    for (std::size_t i = 0; i < 2; ++i)
      for (const Writing writing : {Writing::delayed, Writing::direct})
        out.push_back({&shape, policies[(out.size() / 2) % policies.size()], writing});
  }
  return out;
}

// Returns a model of the policy with every group loaded.
std::unique_ptr<allocator::Decider> model(const allocator::Policy& policy,
                                          const state::Source& source) {
  auto made =
      app::make_decider(policy, allocator::defaults_for(source.geometry), {source, {}, {}}, true);
  return *std::move(made);
}

std::uint64_t settled_free(const state::FsState& state) {
  std::vector<std::uint64_t> words;
  std::uint64_t free = 0;
  for (std::uint32_t group = 0; group < state.group_count(); ++group) {
    state.settled_words(group, words);
    for (std::uint32_t at = 0; at < state.geometry().clusters_in(group); ++at)
      free += state::bitmap::test(words, at) ? 0 : 1;
  }
  return free;
}

std::uint64_t blocks_of(const Ager& ager) {
  std::uint64_t sum = 0;
  for (const ExtentTree& file : ager.files()) sum += file.blocks();
  return sum;
}

class AgerCase : public testing::TestWithParam<Case> {};

TEST_P(AgerCase, KeepsAccountAndGivesEverythingBack) {
  test::ModelFs fs(*GetParam().shape);
  const state::Source& source = fs.source();
  AgerOptions options;
  options.writing = GetParam().writing;
  options.pid = 5;
  options.inodes.resize(kSlots);
  std::iota(options.inodes.begin(), options.inodes.end(), 12u);
  for (std::uint32_t i = 0; i < kSlots; ++i)
    options.inodes[i] += i % source.geometry.groups * source.geometry.inodes_per_group;
  options.align = GetParam().policy->kernel.align;
  options.tunables = allocator::defaults_for(source.geometry);
  const auto decider = model(*GetParam().policy, source);
  Ager ager(*decider, source, options);
  const std::uint64_t free = settled_free(ager.state());

  AgeingWorkloadOptions wanted;
  wanted.clusters =
      source.geometry.to_clusters(source.geometry.blocks_count - source.geometry.first_data_block);
  wanted.used = wanted.clusters - free;
  wanted.cluster_size = 1u << source.geometry.block_bits << source.geometry.cluster_bits;
  wanted.slots = kSlots;
  wanted.until = {0.7, 2};
  Profile profile = *find_profile("wang-lanl");
  profile.sync_every = 15;
  auto workload = AgeingWorkload::create(profile, wanted);
  ASSERT_TRUE(workload.ok()) << workload.error().message;
  Operation operation;
  for (std::uint64_t i = 0; workload->next(operation) && i < 3000; ++i) {
    const Status done = ager.apply(operation);
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (i % 100 != 0) continue;
    for (const std::string& problem : ager.state().check(5)) ADD_FAILURE() << problem;
    // The clusters in use also include the nodes of extent trees.
    const std::uint64_t used = free - settled_free(ager.state());
    const std::uint64_t of_files = source.geometry.to_clusters(blocks_of(ager));
    ASSERT_GE(used, of_files);
    ASSERT_LE(used - of_files, ager.tally().tree_nodes);
  }
  EXPECT_GT(ager.tally().blocks, 0u);
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    ASSERT_TRUE(ager.apply({Operation::Kind::remove, slot, 0}).ok());
  ASSERT_TRUE(ager.apply({}).ok());
  EXPECT_EQ(settled_free(ager.state()), free);
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < source.geometry.groups; ++group) {
    ager.state().settled_words(group, words);
    for (std::uint32_t at = 0; at < source.geometry.clusters_in(group); ++at)
      ASSERT_EQ(state::bitmap::test(words, at), fs.is_used(group, at)) << group << "/" << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgerCase, testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = std::to_string(test.index) + "_" + test.param.shape->name;
  return name + (test.param.writing == Writing::delayed ? "_delayed" : "_direct");
});

// A file that is removed before writeback never gets blocks. A file that is emptied and written
// again gets blocks when it is closed.
TEST(Ager, DelaysUntilSync) {
  test::ModelFs fs(test::model_shape("two_groups"));
  AgerOptions options;
  options.inodes = {12, 13};
  const auto decider = model(*allocator::find_policy("legacy"), fs.source());
  Ager ager(*decider, fs.source(), options);
  const auto apply = [&](Operation::Kind kind, std::uint32_t slot, std::uint64_t bytes) {
    ASSERT_TRUE(ager.apply({kind, slot, bytes}).ok());
  };
  apply(Operation::Kind::write, 0, 10'000);
  apply(Operation::Kind::write, 1, 10'000);
  apply(Operation::Kind::append, 1, 10'000);
  apply(Operation::Kind::remove, 0, 0);
  EXPECT_EQ(ager.tally().requests, 0u);
  apply(Operation::Kind::sync, 0, 0);
  EXPECT_EQ(ager.tally().blocks, 5u);
  EXPECT_EQ(ager.tally().requests, 1u) << "what was written twice is asked for once";
  apply(Operation::Kind::write, 0, 4096);
  EXPECT_EQ(ager.tally().blocks, 6u);
  apply(Operation::Kind::append, 0, 4096);
  EXPECT_EQ(ager.tally().blocks, 6u) << "the second time it waits";
  apply(Operation::Kind::sync, 0, 0);
  EXPECT_EQ(ager.tally().blocks, 7u);
}

// If a file is closed while it has dirty data, its preallocations are released after that data has
// been written back.
TEST(Ager, GivesBackPreallocationsOfAFileThatWasClosedDirty) {
  using Kind = Operation::Kind;
  test::ModelFs fs(test::model_shape("two_groups"));
  AgerOptions options;
  options.inodes = {12, 13};
  const auto decider = model(*allocator::find_policy("linux-7.3"), fs.source());
  Ager ager(*decider, fs.source(), options);
  const auto preallocated = [&ager](std::uint64_t ino) {
    const state::InodePreallocs* found = ager.state().find_inode_preallocs(ino);
    return found != nullptr && found->active > 0;
  };
  for (const Operation& operation :
       std::vector<Operation>{{Kind::write_at, 0, 100'000, 0}, {Kind::write_at, 1, 100'000, 0}, {}})
    ASSERT_TRUE(ager.apply(operation).ok());
  EXPECT_TRUE(preallocated(12));
  for (const Operation& operation :
       std::vector<Operation>{{Kind::write_at, 0, 4096, 102'400}, {Kind::close, 0}})
    ASSERT_TRUE(ager.apply(operation).ok());
  EXPECT_TRUE(preallocated(12)) << "data waits for writeback";
  ASSERT_TRUE(ager.apply({}).ok());
  EXPECT_FALSE(preallocated(12));
  EXPECT_TRUE(preallocated(13)) << "still open";
  // The ager closes a file that it empties. So the data that is appended here goes to a file that
  // is closed.
  for (const Operation& operation :
       std::vector<Operation>{{Kind::remove, 1}, {Kind::append, 1, 100'000}, {}})
    ASSERT_TRUE(ager.apply(operation).ok());
  for (const Operation& operation : std::vector<Operation>{{Kind::append, 1, 4096}, {}})
    ASSERT_TRUE(ager.apply(operation).ok());
  EXPECT_FALSE(preallocated(13));
}

TEST(Ager, RemembersWhatWasWrittenAndWhatWasFreed) {
  test::ModelFs fs(test::model_shape("two_groups"));
  AgerOptions options;
  options.inodes = {12, 13, 14};
  const auto decider = model(*allocator::find_policy("legacy"), fs.source());
  Ager ager(*decider, fs.source(), options);
  const std::uint64_t used = ager.ever_used().blocks();
  EXPECT_EQ(used, fs.geometry().blocks_count - settled_free(ager.state()));
  const auto apply = [&](Operation::Kind kind, std::uint32_t slot, std::uint64_t blocks) {
    ASSERT_TRUE(ager.apply({kind, slot, blocks << fs.geometry().block_bits}).ok());
  };
  for (std::uint32_t slot = 0; slot < 3; ++slot) apply(Operation::Kind::write, slot, 20);
  apply(Operation::Kind::sync, 0, 0);
  EXPECT_EQ(ager.ever_used().blocks(), used + 60);
  EXPECT_EQ(ager.tally().freed.runs, 0u);
  const auto where = [&](std::uint32_t slot) { return ager.files()[slot].extents().front().first; };
  ASSERT_EQ(where(1), where(0) + 20);
  for (const std::uint32_t slot : {0u, 1u}) apply(Operation::Kind::remove, slot, 0);
  apply(Operation::Kind::sync, 0, 0);
  EXPECT_EQ(ager.tally().freed.runs, fs.geometry().journal ? 1u : 2u) << "neighbours are one run";
  EXPECT_EQ(ager.tally().freed.blocks_in(0), 40u);
  EXPECT_EQ(ager.tally().freed.blocks_in(5), fs.geometry().journal ? 40u : 0u);
  EXPECT_EQ(ager.tally().freed.blocks_in(6), 0u);
  EXPECT_EQ(ager.ever_used().blocks(), used + 60) << "once is for ever";
}

// A file with an extsize allocates without delay, in units of the extsize. The rest of the last
// unit stays allocated to the file. A refused request writes nothing.
TEST(Ager, WritesFilesWithAnExtsizeAligned) {
  test::ModelFs fs(test::model_shape("two_groups"));
  const allocator::Policy& policy = *allocator::find_policy("forcealign");
  AgerOptions options;
  options.inodes = {12, 13};
  options.align = policy.kernel.align;
  options.tunables = allocator::defaults_for(fs.geometry());
  const auto decider = model(policy, fs.source());
  Ager ager(*decider, fs.source(), options);
  const std::uint32_t block = fs.geometry().block_size();
  const std::uint64_t unit = options.tunables.extsize;
  ASSERT_EQ(unit * block, 16384u);
  ASSERT_TRUE(ager.apply({Operation::Kind::write, 0, 5 * std::uint64_t{block}}).ok());
  EXPECT_EQ(ager.tally().aligned, 2u);
  EXPECT_EQ(ager.files()[0].blocks(), 2 * unit);
  for (const BlockRange& run : ager.files()[0].extents()) EXPECT_EQ(run.first % unit, 0u);
  ASSERT_TRUE(ager.apply({Operation::Kind::append, 0, 3 * std::uint64_t{block}}).ok());
  EXPECT_EQ(ager.tally().aligned, 2u) << "there is room in what the file has";
  const std::uint64_t all = fs.geometry().blocks_count * block;
  ASSERT_TRUE(ager.apply({Operation::Kind::write, 1, all}).ok());
  EXPECT_EQ(ager.tally().refused, 1u);
  EXPECT_EQ(ager.tally().lost_bytes, all - ager.files()[1].blocks() * block);
  ASSERT_TRUE(ager.apply({}).ok());
  for (const std::string& problem : ager.state().check(5)) ADD_FAILURE() << problem;
}

// Without discards, a device can never release a piece that was once in use, so it needs space for
// every such piece. The test counts the blocks of these pieces. It also counts the runs for which
// discards would be sent.
TEST(EverUsed, CountsPiecesFromBlockZero) {
  state::Source source;  // no groups: nothing is in use
  source.geometry.blocks_count = 100;
  EverUsed ever(source);
  EXPECT_EQ(ever.blocks(), 0u);
  ever.add(15, 2);  // touches two pieces of 16 blocks
  ever.add(16, 1);
  ever.add(99, 1);
  EXPECT_EQ(ever.blocks(), 3u);
  EXPECT_EQ(ever.pieces(4), 3u);
  EXPECT_EQ(ever.pieces(6), 2u);
}

TEST(Ager, SaysWhatCannotBe) {
  test::ModelFs fs(test::model_shape("one_group"));
  AgerOptions options;
  options.inodes = {12};
  const auto decider = model(*allocator::find_policy("legacy"), fs.source());
  Ager ager(*decider, fs.source(), options);
  EXPECT_EQ(ager.apply({Operation::Kind::write, 1, 1}).error().message, "there is no slot 1");
  ASSERT_TRUE(ager.apply({Operation::Kind::write, 0, std::uint64_t{4096} * 5000}).ok());
  const Status full = ager.apply({});
  ASSERT_FALSE(full.ok()) << "what was delayed finds no room";
  EXPECT_NE(full.error().message.find("no space is left"), std::string::npos);
  for (const std::string& problem : ager.state().check(5)) ADD_FAILURE() << problem;
}

}  // namespace
}  // namespace e4r::age
