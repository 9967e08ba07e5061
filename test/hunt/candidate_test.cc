// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/candidate.h"

#include <gtest/gtest.h>

#include "hunt/trial.h"

namespace e4r::hunt {
namespace {

constexpr std::uint64_t kMiB64 = 64 << 20;

Space space_of(std::uint64_t largest, const std::vector<std::string>& tunables) {
  auto made = Space::create(largest, tunables);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

std::size_t place_of(const Space& space, std::string_view name) {
  for (std::size_t i = 0; i < space.parameters().size(); ++i)
    if (space.parameters()[i].name == name) return i;
  ADD_FAILURE() << "no parameter " << name;
  return 0;
}

TEST(HuntSpace, PlainValuesAreANewFileSystemAsMounted) {
  const Space space = space_of(kMiB64, {"mb_stripe"});
  const Candidate plain = space.candidate(Levels(space.parameters().size(), 0));
  EXPECT_EQ(plain.origin.bytes, kMiB64);
  EXPECT_EQ(plain.origin.turnover, 0u);
  EXPECT_EQ(plain.origin.piece, 0u);
  EXPECT_TRUE(plain.settings.empty());
}

TEST(HuntSpace, TheCubesEndsAreTheFirstAndTheLastValues) {
  const Space space = space_of(std::uint64_t{1} << 30, {"mb_stripe", "mb_max_to_scan"});
  const std::vector<double> low(space.parameters().size(), 0), high(low.size(), 1);
  const Levels first = space.levels(low), last = space.levels(high);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i], 0u);
    EXPECT_EQ(last[i], space.parameters()[i].values.size() - 1) << space.parameters()[i].name;
  }
  EXPECT_EQ(space.candidate(last).origin.bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(space.candidate(last).settings.size(), 2u);
}

TEST(HuntSpace, EachValueHasAPoint) {
  const Space space = space_of(kMiB64, {"mb_stripe"});
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    std::vector<bool> met(space.parameters()[i].values.size(), false);
    for (int step = 0; step <= 1000; ++step)
      met[space.levels(std::vector<double>(space.parameters().size(), step / 1000.0))[i]] = true;
    EXPECT_EQ(std::count(met.begin(), met.end(), false), 0) << space.parameters()[i].name;
  }
}

TEST(HuntSpace, WhatANewFileSystemIgnoresMakesNoOtherOne) {
  const Space space = space_of(kMiB64, {});
  Levels levels(space.parameters().size(), 0);
  const Origin plain = space.candidate(levels).origin;
  levels[place_of(space, "utilisation")] = 3;
  levels[place_of(space, "age_seed")] = 3;
  levels[place_of(space, "gap")] = 3;
  EXPECT_EQ(space.candidate(levels).origin, plain);
  levels[place_of(space, "turnover")] = 1;
  EXPECT_NE(space.candidate(levels).origin, plain);
}

TEST(HuntSpace, OnOneStartTheWorkloadAndTunablesAreChosen) {
  const Space all = space_of(kMiB64, {"mb_stripe"});
  const auto some = Space::on_one_start({"mb_stripe"});
  ASSERT_TRUE(some.ok()) << some.error().message;
  const std::size_t left_out = place_of(all, "operations");
  ASSERT_EQ(some->parameters().size(), all.parameters().size() - left_out);
  // `some` has all parameters of `all` except the parameters of the file system, in the same order.
  for (std::size_t i = 0; i < some->parameters().size(); ++i) {
    EXPECT_EQ(some->parameters()[i].name, all.parameters()[i + left_out].name);
    Levels levels(some->parameters().size(), 0), same(all.parameters().size(), 0);
    levels[i] = same[i + left_out] =
        static_cast<std::uint32_t>(some->parameters()[i].values.size() - 1);
    const Candidate one = some->candidate(levels), other = all.candidate(same);
    EXPECT_EQ(one.origin, Origin{});
    EXPECT_EQ(one.settings, other.settings);
    EXPECT_EQ(one.writing, other.writing);
    EXPECT_EQ(one.one_directory, other.one_directory);
    const Room room = {.blocks = 100'000, .block_size = 4096, .slots = 5000, .most = 1 << 18};
    EXPECT_EQ(draw_operations(one.mix, room), draw_operations(other.mix, room));
  }
  EXPECT_FALSE(Space::on_one_start({"mb_nothing"}).ok());
}

TEST(HuntSpace, SaysATunableAsASetting) {
  const Space space = space_of(kMiB64, {"mb_stripe"});
  const std::size_t stripe = place_of(space, "mb_stripe");
  EXPECT_EQ(space.text(stripe, 0), "mb_stripe as mounted");
  EXPECT_EQ(space.text(stripe, 1), "mb_stripe=16");
  EXPECT_EQ(space.text(place_of(space, "size"), 0), "64 MiB");
  EXPECT_EQ(space.text(place_of(space, "writing"), 1), "nodelalloc");
}

TEST(HuntSpace, RefusesWhatItCannotChoose) {
  const auto small = Space::create(kMiB64 - 1, {});
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.error().message.find("give 64.0 MiB or more"), std::string::npos);
  for (const char* name : {"mb_nothing", "", "mb_optimize_scan"}) {
    const auto unknown = Space::create(kMiB64, {name});
    ASSERT_FALSE(unknown.ok()) << name;
    EXPECT_NE(unknown.error().message.find("choose from mb_stripe, "), std::string::npos);
  }
  EXPECT_FALSE(Space::create(kMiB64, {"mb_stripe", "mb_stripe"}).ok());
}

TEST(HuntObjective, IsAFigureThatIsBetterOneWay) {
  for (const char* key : {"steps", "files/extents", "groups_considered", "free_extents/avg_kb",
                          "decision_ns/p99", "files/e4defrag_score"}) {
    const auto found = find_objective(key);
    ASSERT_TRUE(found.ok()) << key;
    EXPECT_EQ((*found)->key, key);
  }
  EXPECT_EQ((*find_objective("ns"))->key, "decision_ns/mean");
  for (const char* key : {"", "requests", "hits/cr0", "files"}) {
    const auto none = find_objective(key);
    ASSERT_FALSE(none.ok()) << key;
    EXPECT_NE(none.error().message.find("choose from steps, ns, "), std::string::npos);
  }
}

Trial trial_of(std::uint64_t base, std::uint64_t with) {
  Trial out;
  out.base.tally.requests = out.with.tally.requests = 100;
  out.base.searches[mb::Criterion::cr0].groups_considered = base;
  out.with.searches[mb::Criterion::cr0].groups_considered = with;
  out.base.searches.extents_scanned = out.with.searches.extents_scanned = 0;
  out.base.free.extents = {.count = 1, .blocks = base};
  out.with.free.extents = {.count = 1, .blocks = with};
  return out;
}

TEST(HuntObjective, ScoresAreAboveZeroForWhatIsWorse) {
  const results::Row& steps = **find_objective("steps");
  Trial more = trial_of(90, 390), less = trial_of(390, 90), same = trial_of(5, 5);
  ASSERT_TRUE(measure(steps, more));
  EXPECT_DOUBLE_EQ(more.score, 2);  // the ratio of 390 + 10 to 90 + 10, as a logarithm
  ASSERT_TRUE(measure(steps, less));
  EXPECT_DOUBLE_EQ(less.score, -2);
  ASSERT_TRUE(measure(steps, same));
  EXPECT_EQ(same.score, 0);
  Trial longer = trial_of(100, 400);
  ASSERT_TRUE(measure(**find_objective("free_extents/avg_kb"), longer));
  EXPECT_DOUBLE_EQ(longer.score, -2);                     // longer free extents are better
  EXPECT_FALSE(measure(**find_objective("ns"), longer));  // no time was measured
}

}  // namespace
}  // namespace e4r::hunt
