// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/accounts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "util/rng.h"

namespace e4r::replay {
namespace {

// Compares every bucket and the slowest decisions with values computed from a list of all requests.
TEST(CostProfile, AgreesWithAListOfAllRequests) {
  for (const std::uint64_t decisions : {1u, 10u, 511u, 512u, 513u, 1024u, 1025u, 20'000u}) {
    SCOPED_TRACE(decisions);
    Rng rng(decisions);
    CostProfile profile;
    std::vector<CostProfile::Decision> first, all;
    for (std::uint64_t n = 1; n <= decisions; ++n) {
      for (std::uint64_t more = 0; more == 0 || rng.chance(1, 5); ++more) {
        const CostProfile::Decision d = {n, {rng.below(1000), rng.below(3000)}};
        profile.add(d.number, d.cost);
        all.push_back(d);
        if (more == 0) first.push_back(d);
      }
    }
    ASSERT_LE(profile.course().buckets().size(), Course<CostProfile::Bucket>::kBuckets);
    ASSERT_EQ(profile.course().buckets().size(),
              (decisions + profile.course().width() - 1) / profile.course().width());
    ASSERT_TRUE(profile.course().width() == 1 ||
                decisions > profile.course().width() / 2 * Course<CostProfile::Bucket>::kBuckets);
    std::vector<CostProfile::Bucket> want(profile.course().buckets().size());
    for (const auto& d : all) {
      CostProfile::Bucket& bucket = want[(d.number - 1) / profile.course().width()];
      ++bucket.requests;
      bucket.steps += d.cost.steps();
      bucket.most = std::max(bucket.most, d.cost.steps());
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(profile.course().buckets()[i].requests, want[i].requests) << i;
      ASSERT_EQ(profile.course().buckets()[i].steps, want[i].steps) << i;
      ASSERT_EQ(profile.course().buckets()[i].most, want[i].most) << i;
    }
    std::stable_sort(first.begin(), first.end(),
                     [](const auto& a, const auto& b) { return a.cost.steps() > b.cost.steps(); });
    first.resize(std::min(first.size(), CostProfile::kSlowest));
    ASSERT_EQ(profile.slowest().size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_EQ(profile.slowest()[i].number, first[i].number);
  }
}

TEST(CostProfile, WhatTookNoStepIsNotSlow) {
  CostProfile profile;
  profile.add(1, {0, 0});
  profile.add(2, {std::nullopt, 1});
  ASSERT_EQ(profile.slowest().size(), 1u);
  EXPECT_EQ(profile.slowest()[0].number, 2u);
}

}  // namespace
}  // namespace e4r::replay
