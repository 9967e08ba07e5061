// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/tunables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "allocator/policy.h"

namespace e4r::allocator {
namespace {

state::MountedGeometry geometry(std::uint32_t groups) {
  state::MountedGeometry g;
  g.groups = groups;
  return g;
}

TEST(Tunables, DefaultsAreTheKernels) {
  const Tunables t = defaults_for(geometry(100));
  EXPECT_EQ(t.mb_max_to_scan, 200u);
  EXPECT_EQ(t.mb_min_to_scan, 10u);
  EXPECT_EQ(t.mb_stream_req, 16u);
  EXPECT_EQ(t.mb_group_prealloc, 512u);
  EXPECT_EQ(t.mb_max_inode_prealloc, 512u);
  EXPECT_EQ(t.mb_max_linear_groups, 0u);
  EXPECT_EQ(t.mb_order2_req, 2u);
  EXPECT_EQ(t.mb_stripe, 0u);
  EXPECT_EQ(t.mb_cr1_5_max_trim_order, 3u);
}

TEST(Tunables, OrderListsFromSixteenGroupsOn) {
  EXPECT_EQ(defaults_for(geometry(15)).mb_optimize_scan, 0u);
  EXPECT_EQ(defaults_for(geometry(16)).mb_optimize_scan, 1u);
}

TEST(Tunables, GroupPreallocationFollowsTheClusterSize) {
  for (const auto& [bits, expected] : {std::pair{0u, 512u}, {2u, 128u}, {4u, 32u}, {8u, 32u}}) {
    state::MountedGeometry g = geometry(100);
    g.cluster_bits = bits;
    EXPECT_EQ(defaults_for(g).mb_group_prealloc, expected) << bits;
  }
}

TEST(Tunables, GroupPreallocationIsAMultipleOfTheStripe) {
  for (const auto& [stripe, expected] :
       {std::pair{16u, 512u}, {24u, 528u}, {384u, 768u}, {1024u, 1024u}}) {
    state::MountedGeometry g = geometry(100);
    g.stripe = stripe;
    EXPECT_EQ(defaults_for(g).mb_group_prealloc, expected) << stripe;
    EXPECT_EQ(defaults_for(g).mb_stripe, stripe);
  }
}

struct PrefetchCase {
  bool flex_bg;
  std::uint32_t log_flex, block_bits, groups;
  std::uint64_t prefetch, limit;
};

TEST(Tunables, ReadAheadFollowsFlexGroupsAndTheRequestSize) {
  for (const PrefetchCase& c : {
           PrefetchCase{false, 0, 12, 1000, 32, 128}, PrefetchCase{false, 0, 12, 50, 32, 50},
           PrefetchCase{false, 0, 12, 20, 20, 20}, PrefetchCase{true, 4, 12, 1000, 128, 512},
           PrefetchCase{true, 4, 12, 300, 128, 300}, PrefetchCase{true, 4, 12, 100, 100, 100},
           PrefetchCase{true, 0, 12, 1000, 8, 32},
           PrefetchCase{true, 14, 12, 1000000, 65536, 262144},  // one request can hold 8192 blocks
           PrefetchCase{true, 14, 16, 1000000, 4096, 16384},    // one request can hold 512 blocks
       }) {
    state::MountedGeometry g = geometry(c.groups);
    g.flex_bg = c.flex_bg;
    g.log_groups_per_flex = c.log_flex;
    g.block_bits = c.block_bits;
    EXPECT_EQ(defaults_for(g).mb_prefetch, c.prefetch) << c.log_flex << " " << c.groups;
    EXPECT_EQ(defaults_for(g).mb_prefetch_limit, c.limit) << c.log_flex << " " << c.groups;
  }
}

TEST(Tunables, EveryNameCanBeSet) {
  std::set<std::string_view> names;
  for (const TunableInfo& info : tunable_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.meaning.empty()) << info.name;
    Tunables t;
    t.*(info.member) = 0;
    ASSERT_TRUE(set_tunable(t, std::string(info.name) + "=1").ok()) << info.name;
    EXPECT_EQ(t.*(info.member), 1u) << info.name;
  }
}

std::string complaint(std::string_view assignment) {
  Tunables t;
  const Status status = set_tunable(t, assignment);
  return status.ok() ? "" : status.error().message;
}

TEST(Tunables, SaysWhatIsWrong) {
  EXPECT_EQ(complaint("mb_max_to_scan=17"), "");
  EXPECT_NE(complaint("mb_max_to_scan").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(complaint("").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(complaint("mb_max_scan=3").find("unknown tunable 'mb_max_scan'"), std::string::npos);
  EXPECT_NE(complaint("mb_max_scan=3").find("mb_max_to_scan"), std::string::npos);
  EXPECT_NE(complaint("mb_max_to_scan=").find("mb_max_to_scan: "), std::string::npos);
  EXPECT_NE(complaint("mb_max_to_scan=-1"), "");
  EXPECT_NE(complaint("mb_max_to_scan=ten"), "");
  EXPECT_NE(complaint("mb_max_to_scan=2147483648").find("more than"), std::string::npos);
  EXPECT_EQ(complaint("mb_max_to_scan=2147483647"), "");
  EXPECT_NE(complaint("mb_optimize_scan=2").find("more than 1"), std::string::npos);
}

TEST(Tunables, AMountLineIsHeldToTheSameLimits) {
  Tunables t;
  EXPECT_EQ(read_recorded_tunables(t, "/dev/a /mnt ext4 rw,stripe=18446744073709551615 0 0\n"), 0u);
  EXPECT_EQ(t.mb_stripe, 0u);
  EXPECT_EQ(read_recorded_tunables(t, "/dev/a /mnt ext4 rw,stripe=16 0 0\n"), 1u);
  EXPECT_EQ(t.mb_stripe, 16u);
}

// Tests which tunables a policy declares. The conformance suite checks that the other tunables have
// no effect on the policy.
TEST(Tunables, BelongToThePoliciesThatReadThem) {
  const auto reads = [](std::string_view policy, std::string_view name) {
    for (const TunableInfo& info : tunable_table())
      if (info.name == name) return has_tunable(*find_policy(policy), info);
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_TRUE(reads("cr1.5", "mb_cr1_5_max_trim_order"));
  EXPECT_FALSE(reads("legacy", "mb_cr1_5_max_trim_order"));
  EXPECT_FALSE(reads("linux-7.3", "mb_cr1_5_max_trim_order"));
  EXPECT_TRUE(reads("linux-6.5", "mb_best_avail_max_trim_order"));
  EXPECT_TRUE(reads("linux-7.3", "mb_best_avail_max_trim_order"));
  EXPECT_FALSE(reads("cr1.5", "mb_best_avail_max_trim_order"));
  EXPECT_TRUE(reads("legacy", "mb_max_inode_prealloc"));
  EXPECT_FALSE(reads("linux-6.12", "mb_max_inode_prealloc"));
  EXPECT_TRUE(reads("linux-7.3", "possible_cpus"));
  EXPECT_FALSE(reads("rotalloc", "possible_cpus"));
  EXPECT_TRUE(reads("spread-by-cpu", "possible_cpus"));
  EXPECT_FALSE(reads("linear", "mb_optimize_scan"));
  EXPECT_TRUE(reads("legacy", "mb_optimize_scan"));
  EXPECT_FALSE(reads("linear", "mb_max_linear_groups"));
  for (const Policy* policy : policies()) EXPECT_TRUE(reads(policy->name, "mb_max_to_scan"));
}

TEST(Tunables, ThatOfARungHasARow) {
  for (const Policy* policy : policies())
    for (const Rung& rung : policy->ladder) {
      if (rung.tunable == nullptr) continue;
      const auto table = tunable_table();
      const auto row = std::find_if(table.begin(), table.end(), [&](const TunableInfo& info) {
        return info.member == rung.tunable;
      });
      ASSERT_NE(row, table.end()) << policy->name << ": " << rung.meaning;
      EXPECT_TRUE(has_tunable(*policy, *row)) << row->name;
    }
}

TEST(Tunables, WhatAMountSettlesStays) {
  Tunables mounted, now;
  mounted.mb_stripe = 8;
  mounted.mb_optimize_scan = 0;
  mounted.possible_cpus = 4;
  now.mb_max_to_scan = 7;
  now.mb_stripe = 16;
  const Tunables t = with_mount_of(mounted, now);
  EXPECT_EQ(t.mb_max_to_scan, 7u);
  EXPECT_EQ(t.mb_stripe, 8u);
  EXPECT_EQ(t.mb_optimize_scan, 0u);
  EXPECT_EQ(t.possible_cpus, 4u);
}

TEST(Tunables, AFailedSettingChangesNothing) {
  Tunables t;
  EXPECT_FALSE(set_tunable(t, "mb_optimize_scan=2").ok());
  EXPECT_EQ(t.mb_optimize_scan, 1u);
}

}  // namespace
}  // namespace e4r::allocator
