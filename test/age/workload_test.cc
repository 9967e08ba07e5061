// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "age/workload.h"

namespace e4r::age {
namespace {

using Kind = Operation::Kind;

AgeingWorkloadOptions disk(std::uint64_t blocks = 100'000, std::uint32_t slots = 20'000) {
  AgeingWorkloadOptions out;
  out.clusters = blocks;
  out.used = blocks / 50;
  out.cluster_size = 4096;
  out.slots = slots;
  out.until = {0.8, 3};
  return out;
}

std::vector<Operation> all(const Profile& profile, const AgeingWorkloadOptions& options) {
  auto workload = AgeingWorkload::create(profile, options);
  EXPECT_TRUE(workload.ok());
  std::vector<Operation> out;
  Operation operation;
  while (workload->next(operation)) out.push_back(operation);
  return out;
}

TEST(Population, TakesEachOnce) {
  Rng rng(3);
  Population population({{1, 1}, {2, 1}, {4, 2}});
  std::set<std::uint32_t> there;
  for (std::uint32_t i = 0; i < 30'000; ++i) {
    if (there.empty() || rng.chance(11, 20)) {
      population.add(i);
      there.insert(i);
    } else {
      EXPECT_EQ(there.erase(population.take(rng)), 1u);
    }
    ASSERT_EQ(population.size(), there.size());
    EXPECT_TRUE(there.empty() || there.contains(population.any(rng)));
  }
}

// The ages of the remaining files must match the histogram.
TEST(Population, KeepsTheAges) {
  Rng rng(5);
  const std::vector<Step> ages = {{1, 45}, {3, 25}, {5, 20}, {10, 10}};
  Population population(ages);
  constexpr std::uint32_t kAlive = 2000, kAll = 200'000;
  std::map<std::uint32_t, std::uint32_t> born;
  for (std::uint32_t i = 0; i < kAll; ++i) {
    population.add(i);
    born[i] = i;
    if (population.size() > kAlive) born.erase(population.take(rng));
  }
  std::array<std::uint32_t, 4> count = {};
  for (const auto& [slot, when] : born) {
    const double age = 10.0 * (kAll - when) / kAll;
    for (std::size_t i = 0; i < ages.size(); ++i)
      if (age <= ages[i].limit) {
        ++count[i];
        break;
      }
  }
  for (std::size_t i = 0; i < ages.size(); ++i)
    EXPECT_NEAR(100.0 * count[i] / kAlive, ages[i].weight, 3) << i;
}

TEST(AgeingWorkload, IsTheSameForTheSameSeed) {
  for (const Profile& profile : profiles()) {
    AgeingWorkloadOptions options = disk();
    const auto first = all(profile, options);
    EXPECT_EQ(first, all(profile, options)) << profile.name;
    options.seed = 2;
    EXPECT_NE(first, all(profile, options)) << profile.name;
  }
}

TEST(AgeingWorkload, WritesWhereThereIsRoomAndEndsSynced) {
  for (Profile profile : profiles()) {
    profile.rewrite_share = 0.2;
    const AgeingWorkloadOptions options = disk();
    auto workload = *AgeingWorkload::create(profile, options);
    std::vector<std::uint64_t> sizes(options.slots, 0);
    std::uint64_t used = options.used, most = 0, written = 0, since = 0;
    Operation operation;
    const auto blocks = [](std::uint64_t bytes) { return (bytes + 4095) / 4096; };
    while (workload.next(operation)) {
      ++since;
      if (operation.kind == Kind::sync) {
        EXPECT_LE(since, static_cast<std::uint64_t>(profile.sync_every) + 1);
        since = 0;
        continue;
      }
      ASSERT_LT(operation.slot, options.slots);
      std::uint64_t& size = sizes[operation.slot];
      used -= blocks(size);
      EXPECT_TRUE(operation.kind != Kind::write || size == 0);
      EXPECT_TRUE(operation.kind != Kind::append || size > 0);
      const std::uint64_t before = blocks(size);
      size = operation.kind == Kind::remove ? 0 : size + operation.bytes;
      if (operation.kind != Kind::remove) written += (blocks(size) - before) * 4096;
      used += blocks(size);
      most = std::max(most, used);
    }
    EXPECT_EQ(operation.kind, Kind::sync);
    EXPECT_EQ(written, workload.bytes_written()) << profile.name;
    EXPECT_GE(written, 3 * options.clusters * 4096) << profile.name;
    EXPECT_NEAR(static_cast<double>(used) / static_cast<double>(options.clusters), 0.8, 0.02)
        << profile.name;
    EXPECT_LT(static_cast<double>(most) / static_cast<double>(options.clusters), 0.83);
  }
}

// The workload has too few files to reach the utilisation. It must still end, after it has written
// enough data.
TEST(AgeingWorkload, EndsWithoutSlotsToo) {
  auto workload = *AgeingWorkload::create(*find_profile("wang-os"), disk(100'000, 50));
  std::uint64_t writes = 0;
  Operation operation;
  while (workload.next(operation)) writes += operation.kind == Kind::write;
  EXPECT_GT(writes, 1000u);
  EXPECT_TRUE(workload.out_of_slots());
}

TEST(AgeingWorkload, SizesAreTheProfiles) {
  Profile profile = *find_profile("wang-os");
  profile.append_share = profile.rewrite_share = 0;
  std::vector<std::uint64_t> count(profile.sizes.size(), 0);
  std::uint64_t files = 0;
  for (const Operation& operation : all(profile, disk(2'000'000, 400'000))) {
    if (operation.kind != Kind::write) continue;
    ++files;
    for (std::size_t i = 0; i < count.size(); ++i)
      if (static_cast<double>(operation.bytes) <= profile.sizes[i].limit) {
        ++count[i];
        break;
      }
  }
  double weights = 0;
  for (const Step& step : profile.sizes) weights += step.weight;
  for (std::size_t i = 0; i < count.size(); ++i)
    EXPECT_NEAR(static_cast<double>(count[i]) / static_cast<double>(files),
                profile.sizes[i].weight / weights, 0.01)
        << i;
}

TEST(AgeingWorkload, RefusesWhatCannotBe) {
  AgeingWorkloadOptions options = disk();
  options.used = options.clusters * 9 / 10;
  EXPECT_NE(AgeingWorkload::create(profiles()[0], options).error().message.find("90.0 %"),
            std::string::npos);
  options = disk();
  options.slots = 0;
  EXPECT_FALSE(AgeingWorkload::create(profiles()[0], options).ok());
}

TEST(AgeingWorkload, ReadsWhenToEnd) {
  const auto both = parse_until("utilisation 0.9, turnover 10x");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->utilisation, 0.9);
  EXPECT_EQ(both->turnover, 10);
  EXPECT_EQ(parse_until("turnover 2.5")->turnover, 2.5);
  EXPECT_EQ(parse_until("utilisation 0.5")->utilisation, 0.5);
  for (const char* wrong :
       {"", ",", "utilisation", "utilisation 0", "utilisation 0.98", "turnover -1", "turnover 1x 2",
        "age 3", "utilisation nan", "turnover 1e9", "utilisation 0.5 turnover 1"})
    EXPECT_FALSE(parse_until(wrong).ok()) << wrong;
}

TEST(AgeingWorkload, SaysOperationsInWords) {
  EXPECT_EQ(text_of({Kind::write, 7, 4096}), "w 7 4096");
  EXPECT_EQ(text_of({Kind::append, 8, 1}), "a 8 1");
  EXPECT_EQ(text_of({Kind::remove, 9, 0}), "r 9");
  EXPECT_EQ(text_of({}), "s");
}

}  // namespace
}  // namespace e4r::age
