// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/search.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "app/setups.h"
#include "hunt/hunt.h"
#include "hunt/images.h"
#include "hunt/shrink.h"
#include "hunt/trial.h"

namespace e4r::hunt {
namespace {

class HuntSearch : public ::testing::Test {
 protected:
  HuntSearch() {
    options_.base.policy = *app::parse_policy("legacy");
    options_.with.policy = *app::parse_policy("linux-6.12");
    options_.objective = *find_objective("steps");
    options_.least_requests = 50;
    options_.trials = 80;
  }

  Result<SearchResult> search_in(unsigned threads) {
    options_.threads = threads;
    return search(space_, starts_, options_, [](std::uint64_t, const Trial*) {});
  }

  Images images_;
  Starts& starts_ = images_.starts();
  const Space space_ = *Space::create(256 << 20, {"mb_stripe"});
  SearchOptions options_;
};

TEST_F(HuntSearch, FindsTheSameWithAnyNumberOfThreads) {
  const auto one = search_in(1), four = search_in(4);
  ASSERT_TRUE(one.ok()) << one.error().message;
  ASSERT_TRUE(four.ok()) << four.error().message;
  ASSERT_TRUE(one->best && four->best);
  EXPECT_EQ(one->best->levels, four->best->levels);
  EXPECT_EQ(one->best->trial.with_value, four->best->trial.with_value);
  EXPECT_EQ(one->tally.trials, 80u);
  EXPECT_EQ(one->tally.worse, four->tally.worse);
  EXPECT_EQ(one->tally.impossible, four->tally.impossible);
  options_.seed = 2;
  const auto other = search_in(0);
  ASSERT_TRUE(other.ok() && other->best);
  EXPECT_NE(other->best->levels, one->best->levels);
}

TEST_F(HuntSearch, AgainstItselfNothingIsWorse) {
  options_.with = options_.base;
  options_.trials = 20;
  const auto found = search_in(2);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->best);
  EXPECT_EQ(found->tally.worse + found->tally.better, 0u);
}

TEST_F(HuntSearch, EndsWhenItIsTold) {
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  const auto found = search(space_, starts_, options_, [&stop](std::uint64_t trials, const Trial*) {
    if (trials == 10) stop = true;
  });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "stopped");
}

// If `enough` stops the search, the search does not fail. It returns its best case so far.
TEST_F(HuntSearch, EndsWithWhatItHasWhenItIsEnough) {
  std::atomic<int> asked = 0;
  options_.enough = [&asked] { return ++asked > 30; };
  const auto found = search_in(1);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->tally.trials, 30u);
  ASSERT_TRUE(found->best);
  asked = 28;
  const auto small =
      shrink(space_, starts_, options_, *found->best, 150, [](std::uint64_t, const Trial*) {});
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_LE(small->trials, 3u);
}

// The score adds a tenth of a step per request to both sides. The printed figure does not include
// this addition.
TEST_F(HuntSearch, TimesAreThoseOfTheValues) {
  Trial trial;
  trial.base.tally.requests = trial.with.tally.requests = 1000;
  trial.base.searches[mb::Criterion::cr0].groups_considered = 100;
  trial.base.searches.extents_scanned = 0;
  trial.with.searches[mb::Criterion::cr0].groups_considered = 590;
  trial.with.searches.extents_scanned = 0;
  ASSERT_TRUE(measure(*options_.objective, trial));
  EXPECT_DOUBLE_EQ(trial.times(), 5.9);
  EXPECT_DOUBLE_EQ(trial.score, std::log2(690.0 / 200));
  EXPECT_EQ(times_text(&trial), "5.9 times");
  EXPECT_EQ(times_text(nullptr), "no worse");
  trial.base.searches[mb::Criterion::cr0].groups_considered = 0;
  ASSERT_TRUE(measure(*options_.objective, trial));
  EXPECT_EQ(times_text(&trial), "new");
  std::swap(trial.base, trial.with);
  ASSERT_TRUE(measure(*options_.objective, trial));
  EXPECT_EQ(times_text(&trial), "no worse");
  trial.base.free.extents.add(0, 300);
  trial.with.free.extents.add(0, 100);
  ASSERT_TRUE(measure(**find_objective("free_extents/max_kb"), trial));
  EXPECT_EQ(times_text(&trial), "3 times");
}

// If both sides make the same decisions, a difference in time is noise.
TEST_F(HuntSearch, TimesOfWhatIsDecidedAlikeAreNoise) {
  const results::Row& ns = **find_objective("ns");
  Trial trial;
  allocator::Decision slow, fast;
  slow.ns = 1000;
  fast.ns = 100;
  trial.base.tally.requests = trial.with.tally.requests = 1;
  trial.base.times.add(fast);
  trial.with.times.add(slow);
  trial.base.decisions_hash = trial.with.decisions_hash = 7;
  ASSERT_TRUE(measure(ns, trial));
  EXPECT_TRUE(trial.alike);
  EXPECT_EQ(trial.score, 0);
  trial.with.decisions_hash = 8;
  ASSERT_TRUE(measure(ns, trial));
  EXPECT_FALSE(trial.alike);
  EXPECT_GT(trial.score, 3);
  trial.with.decisions_hash = 7;
  for (results::Outcome* side : {&trial.base, &trial.with}) {
    side->searches[mb::Criterion::cr0].groups_considered = 1;
    side->searches.extents_scanned = 1;
  }
  ASSERT_TRUE(measure(**find_objective("steps"), trial));
  EXPECT_FALSE(trial.alike) << "steps are not times";
}

// The minimised case must still show the difference, and a replay of its capture must give the same
// result.
TEST_F(HuntSearch, ASmallerCaseIsWrittenAndReplayedAsItWasPlayed) {
  const auto found = search_in(0);
  ASSERT_TRUE(found.ok() && found->best);
  const auto small =
      shrink(space_, starts_, options_, *found->best, 150, [](std::uint64_t, const Trial*) {});
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_LE(small->trials, 151u);
  EXPECT_GE(small->trial.score, found->best->trial.score * 0.75);
  EXPECT_GE(small->trial.base.tally.requests, options_.least_requests);
  for (std::size_t i = 0; i < small->levels.size(); ++i)
    EXPECT_LE(small->levels[i], found->best->levels[i]) << space_.parameters()[i].name;

  const auto again = try_scene(small->scene, options_);
  ASSERT_TRUE(again.ok() && *again);
  EXPECT_EQ((*again)->with_value, small->trial.with_value);

  const std::string path = images_.file("case.e4c");
  const auto events = write_case(small->scene, options_.base, {"the test", "none"}, path);
  ASSERT_TRUE(events.ok()) << events.error().message;
  Progress silent(false);
  const auto replayed = replay_case(path, options_, {silent, [](const std::string&) {}});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_EQ(replayed->decisions, small->trial.base.tally.requests);
  EXPECT_EQ(replayed->followed, replayed->decisions);
  EXPECT_EQ(replayed->trial.base_value, small->trial.base_value);
  // The replay uses the requests of the first policy. In the hunt, each policy made its own
  // requests.
  EXPECT_GT(replayed->trial.score, 0);
  EXPECT_NE(replayed->costliest.decision, 0u);
}

}  // namespace
}  // namespace e4r::hunt
