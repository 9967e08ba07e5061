// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/punch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "age/ager.h"
#include "age/profile.h"
#include "app/setups.h"
#include "support/model.h"

namespace e4r::age {
namespace {

using Kind = Operation::Kind;

constexpr std::uint32_t kBlockBytes = 4096;

AgeingWorkloadOptions punch_options(std::uint64_t seed) {
  AgeingWorkloadOptions out;
  out.clusters = 1 << 18;
  out.used = 5000;
  out.cluster_size = kBlockBytes;
  out.slots = 2000;
  out.until = {0.9, 20};
  out.seed = seed;
  return out;
}

std::vector<Operation> draw_punches(const AgeingWorkloadOptions& options) {
  auto drawn = draw_for(*find_profile("punch"), options);
  if (!drawn.ok()) return {};
  std::vector<Operation> out;
  for (Operation operation; (*drawn)->next(operation);) out.push_back(operation);
  return out;
}

// The blocks of a file: the end of each run by its start.
using Runs = std::map<std::uint64_t, std::uint64_t>;

// Removes the blocks [from, to). Returns how many of them the file had.
std::uint64_t cut(Runs& file, std::uint64_t from, std::uint64_t to) {
  std::uint64_t had = 0;
  auto at = file.lower_bound(from);
  if (at != file.begin() && std::prev(at)->second > from) --at;
  while (at != file.end() && at->first < to) {
    const auto [start, end] = *at;
    at = file.erase(at);
    if (start < from) file.emplace(start, from);
    if (end > to) at = file.emplace(to, end).first;
    had += std::min(end, to) - std::max(start, from);
  }
  return had;
}

std::uint64_t play_punches(const std::vector<Operation>& operations, std::uint64_t most) {
  std::map<std::uint32_t, Runs> files;
  std::uint64_t taken = 0;
  for (const Operation& operation : operations) {
    Runs& file = files[operation.slot];
    const std::uint64_t end = operation.offset + operation.bytes;
    if (operation.kind == Kind::remove) taken -= cut(file, 0, UINT64_MAX);
    if (operation.kind == Kind::extend) {
      const std::uint64_t first = operation.offset / kBlockBytes;
      const std::uint64_t last = (end + kBlockBytes - 1) / kBlockBytes;
      taken += last - first - cut(file, first, last);
      if (last > first) file.emplace(first, last);
    }
    if (operation.kind == Kind::punch)
      taken -= cut(file, (operation.offset + kBlockBytes - 1) / kBlockBytes, end / kBlockBytes);
    EXPECT_LE(taken, most);
  }
  return taken;
}

TEST(PunchWorkload, KeepsToItsRoomAndFillsIt) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const AgeingWorkloadOptions options = punch_options(seed);
    const std::vector<Operation> operations = draw_punches(options);
    ASSERT_FALSE(operations.empty());
    EXPECT_EQ(operations.back().kind, Kind::sync);
    std::map<Kind, std::uint64_t> kinds;
    for (const Operation& operation : operations) ++kinds[operation.kind];
    EXPECT_GT(kinds[Kind::punch], 100u);
    EXPECT_GT(kinds[Kind::extend], 100u);
    EXPECT_GT(kinds[Kind::remove], 0u);
    const std::uint64_t room = room_of(options);
    EXPECT_GT(play_punches(operations, room + 100), room * 9 / 10) << "seed " << seed;
    EXPECT_EQ(draw_punches(options), operations) << "the same seed";
  }
}

TEST(PunchWorkload, PunchesWhatFollowsTheLastHole) {
  Profile profile = *find_profile("punch");
  profile.sizes = {{64 << 20, 1}, {64 << 20, 1}};
  auto drawn = PunchWorkload::create(profile, punch_options(3));
  ASSERT_TRUE(drawn.ok()) << drawn.error().message;
  std::map<std::uint32_t, std::uint64_t> ends, sizes;
  std::uint64_t holes = 0;
  for (Operation operation; drawn->next(operation);) {
    if (operation.kind == Kind::remove) ends.erase(operation.slot);
    if (operation.kind == Kind::extend) {
      // Round up to a whole block.
      sizes[operation.slot] =
          (operation.offset + operation.bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
      // An append changes the size, and the place of the next hole depends on the size.
      if (operation.offset > 0) ends[operation.slot] = UINT64_MAX;
    }
    if (operation.kind != Kind::punch) continue;
    const std::uint64_t size = sizes[operation.slot];
    const std::uint64_t end = operation.offset + operation.bytes;
    ASSERT_LE(end, size);
    if (end == size) {  // the hole was at the end of the file
      sizes[operation.slot] = operation.offset;
      ends[operation.slot] = UINT64_MAX;
      continue;
    }
    // The first hole begins one unit after the start of the file. Two units remain between holes.
    if (!ends.contains(operation.slot)) {
      EXPECT_EQ(operation.offset, profile.punch);
    } else if (ends[operation.slot] != UINT64_MAX) {
      EXPECT_EQ(operation.offset, ends[operation.slot] + 2 * profile.punch);
    }
    if (ends[operation.slot] != UINT64_MAX) ends[operation.slot] = end;
    ++holes;
  }
  EXPECT_GT(holes, 20u);
}

TEST(PunchWorkload, GivesEverythingBack) {
  test::ModelFs fs(test::model_shape("blocks_4k_full_size"));
  const state::Source& source = fs.source();
  const allocator::Policy& policy = *allocator::find_policy("linux-7.3");
  auto decider =
      app::make_decider(policy, allocator::defaults_for(source.geometry), {source, {}, {}}, true);
  ASSERT_TRUE(decider.ok());
  AgerOptions ager_options;
  ager_options.inodes.resize(60);
  std::iota(ager_options.inodes.begin(), ager_options.inodes.end(), 12u);
  Ager ager(**decider, source, ager_options);
  AgeingWorkloadOptions options;
  options.clusters = source.geometry.blocks_count;
  options.cluster_size = kBlockBytes;
  options.slots = 60;
  options.until = {0.9, 4};
  auto drawn = draw_for(*find_profile("punch"), options);
  ASSERT_TRUE(drawn.ok());
  std::uint64_t count = 0;
  for (Operation operation; (*drawn)->next(operation); ++count) {
    const Status done = ager.apply(operation);
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (count % 50 == 0)
      for (const std::string& problem : ager.state().check(5)) ADD_FAILURE() << problem;
  }
  EXPECT_GT(ager.tally().punched, 0u);
  for (std::uint32_t slot = 0; slot < 60; ++slot)
    ASSERT_TRUE(ager.apply({Kind::remove, slot, 0}).ok());
  ASSERT_TRUE(ager.apply({}).ok());
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < source.geometry.groups; ++group) {
    ager.state().settled_words(group, words);
    for (std::uint32_t at = 0; at < source.geometry.clusters_in(group); ++at)
      ASSERT_EQ(state::bitmap::test(words, at), fs.is_used(group, at)) << group << "/" << at;
  }
}

}  // namespace
}  // namespace e4r::age
