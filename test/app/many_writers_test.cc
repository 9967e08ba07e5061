// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/opened.h"
#include "replay/engine.h"

namespace e4r::app {
namespace {

TEST(ManyWriters, NumbersAreParsed) {
  const auto numbers = parse_writers("1,2,64,1024");
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(*numbers, (std::vector<unsigned>{1, 2, 64, 1024}));
  for (const char* wrong : {"", ",", "0", "1,,2", "-1", "1025", "2x", " 2", "4294967297"})
    EXPECT_FALSE(parse_writers(wrong).ok()) << wrong;
}

TEST(ManyWriters, ANumberOfCpusIsParsed) {
  EXPECT_EQ(*parse_cpus("8"), 8u);
  for (const char* wrong : {"", "0", "-1", "1025", "1,2", "8x"})
    EXPECT_FALSE(parse_cpus(wrong).ok()) << wrong;
}

TEST(ManyWriters, TheMachineThinksBetweenAnAnswerAndTheNextRequest) {
  replay::DecisionRows rows;
  const auto add = [&](std::uint64_t decision, std::uint64_t at, std::uint64_t answered) {
    replay::DecisionRow row;
    row.time_ns = at;
    row.answered_ns = answered;
    row.ino = decision < 4 ? 12 : 13;
    rows.add(decision, row);
  };
  add(1, 1000, 1100);
  add(2, 1500, 1600);
  add(3, 1700, 0);  // the time of the answer is unknown
  add(4, 1800, 2000);
  add(6, 1900, 1950);  // made before the previous request was answered
  add(7, 2300, 2400);
  const Thinking out = measure_thinking(rows);
  EXPECT_EQ(out.ns, (std::vector<std::uint64_t>{0, 0, 400, 100, 100, 0, 0, 300}));
  EXPECT_EQ(out.overlapping, 1u);
  EXPECT_EQ(out.tick_ns, 100u);
  EXPECT_EQ(out.same_inode,
            (std::vector<bool>{false, false, true, true, false, false, true, true}));
  EXPECT_TRUE(measure_thinking({}).ns.size() == 1);
}

// The simulation of one writer must be as fast as the recorded writer, and many writers together
// must be faster.
class WritersOf : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WritersOf, ACaptureAreAsFastAsRecorded) {
  const auto [name, policy] = GetParam();
  const test::Opened opened(name);
  RunSpec spec;
  spec.policies = {allocator::find_policy(policy)};
  spec.writers = {1, 2, 16};
  spec.force = true;
  const auto compared = compare(spec, opened.inputs, opened.listener);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  std::uint64_t first = UINT64_MAX, last = 0;
  for (const replay::DecisionRow& row : compared->recorded.all()) {
    first = std::min(first, row.time_ns);
    last = std::max(last, row.answered_ns);
  }
  std::vector<contention::SimulationOutcome> out;
  for (const results::Outcome& by : compared->report.runs[0].by_writers) {
    out.push_back(by.writers.value());
    EXPECT_EQ(by.files.files, compared->report.runs[0].files.files);
    EXPECT_EQ(by.files.blocks, compared->report.runs[0].files.blocks);
  }
  ASSERT_EQ(out.size(), 3u);
  EXPECT_NEAR(static_cast<double>(out[0].ns), static_cast<double>(last - first),
              0.1 * static_cast<double>(last - first));
  EXPECT_EQ(out[0].all_waits().count, 0u);
  EXPECT_LT(out[1].ns, out[0].ns);
  EXPECT_LE(out[2].ns, out[1].ns);
}

INSTANTIATE_TEST_SUITE_P(Captures, WritersOf,
                         testing::Values(std::pair("discard-7.3.e4c", "linux-7.3"),
                                         std::pair("discard-6.1.e4c", "legacy")));

TEST(ManyWriters, APaceIsParsed) {
  EXPECT_EQ(*parse_think("80us"), 80'000u);
  EXPECT_EQ(*parse_think("0"), 0u);
  EXPECT_FALSE(parse_think("80").ok());
  EXPECT_EQ(*parse_think_scale("0.1"), 0.1);
  EXPECT_EQ(*parse_think_scale("0"), 0);
  for (const char* wrong : {"", "-1", "x", "1x", "nan", "inf", "1e7"})
    EXPECT_FALSE(parse_think_scale(wrong).ok()) << wrong;
}

// A pace either replaces the recorded pauses or scales them. In both cases each pause is random,
// and differs by up to a half from the value that the pace gives.
TEST(ManyWriters, PausesHaveThePace) {
  Thinking thinking;
  thinking.ns.assign(3000, 1000);
  thinking.same_inode.assign(3000, false);
  const auto mean = [](const std::vector<std::uint64_t>& pauses) {
    double sum = 0;
    for (const std::uint64_t ns : pauses) sum += static_cast<double>(ns);
    return sum / static_cast<double>(pauses.size());
  };
  EXPECT_NEAR(mean(pauses_of(thinking, {})), 1000, 20);
  EXPECT_NEAR(mean(pauses_of(thinking, {std::nullopt, 0.1})), 100, 2);
  EXPECT_NEAR(mean(pauses_of(thinking, {std::nullopt, 10})), 10'000, 200);
  const std::vector<std::uint64_t> given = pauses_of(thinking, {80'000, 1});
  EXPECT_NEAR(mean(given), 80'000, 1600);
  EXPECT_GE(*std::ranges::min_element(given), 40'000u);
  EXPECT_LE(*std::ranges::max_element(given), 120'000u);
  for (const std::uint64_t ns : pauses_of(thinking, {0, 1})) EXPECT_EQ(ns, 0u);
}

// Compares the requests per second of one writer and of many writers at several paces.
TEST(ManyWriters, AFasterProgramAsksFaster) {
  const test::Opened opened("discard-7.3.e4c");
  const auto outcomes = [&](const contention::Pace& pace) {
    RunSpec spec;
    spec.policies = {allocator::find_policy("linux-7.3")};
    spec.writers = {1, 16};
    spec.pace = pace;
    const auto compared = compare(spec, opened.inputs, opened.listener);
    EXPECT_TRUE(compared.ok());
    EXPECT_EQ(compared->report.pace.think_ns, pace.think_ns);
    std::vector<contention::SimulationOutcome> out;
    for (const results::Outcome& by : compared->report.runs[0].by_writers)
      out.push_back(by.writers.value());
    return out;
  };
  const auto recorded = outcomes({});
  const auto faster = outcomes({std::nullopt, 0.1});
  const auto given = outcomes({10'000'000, 1});
  const auto never = outcomes({0, 1});
  EXPECT_LT(faster[0].ns, recorded[0].ns);
  EXPECT_LT(never[0].ns, faster[0].ns);
  EXPECT_GE(faster[1].share_waited(faster[1].all_waits()),
            recorded[1].share_waited(recorded[1].all_waits()));
  EXPECT_GT(never[1].all_waits().ns, 0u);
  EXPECT_EQ(never[0].think_ns, 0u);
  EXPECT_NEAR(given[0].requests_per_second(), 100, 5);
  EXPECT_NEAR(static_cast<double>(given[0].think_ns) / static_cast<double>(given[0].requests), 1e7,
              5e5);
}

// An anonymous capture has no times.
TEST(ManyWriters, ACaptureWithoutTimesIsRefused) {
  const test::Opened opened("corpus/mail-1k.e4c");
  RunSpec spec;
  spec.policies = {allocator::find_policy("legacy")};
  spec.writers = {2};
  const auto compared = compare(spec, opened.inputs, opened.listener);
  ASSERT_FALSE(compared.ok());
  EXPECT_NE(compared.error().message.find("anonymous"), std::string::npos);
  spec.pace.think_ns = 1000;
  EXPECT_TRUE(compare(spec, opened.inputs, opened.listener).ok());
}

// The model records the lock operations of frees only on request. The lock operations of
// allocations are the same with and without this request.
TEST(ManyWriters, AFreeHoldsTheGroupThatItFreesIn) {
  test::Opened opened("corpus/mail-1k-aged.e4c");
  replay::Session session = opened.session();
  ASSERT_TRUE(session.follow_recorded({nullptr, opened.inputs.recorded}).ok());
  const allocator::Policy* policy = allocator::find_policy("linux-7.3");
  std::vector<std::size_t> noted;
  for (const bool of_frees : {false, true}) {
    replay::Setup setup = make_setup(*policy, opened.inputs.recorded, opened.inputs);
    setup.keep = [&](replay::Accounts& accounts) {
      accounts.add<replay::LockOperations>(of_frees);
    };
    const auto run = session.what_if(setup);
    ASSERT_TRUE(run.ok()) << run.error().message;
    noted.push_back(run->engine->find<replay::LockOperations>()->notes().size());
    EXPECT_GT(run->engine->tally().freed_clusters, 0u);
  }
  EXPECT_GT(noted[1], noted[0]);

  allocator::LockNotes notes;
  allocator::note_free(*policy, 5, notes);
  ASSERT_EQ(notes.size(), 1u);
  ASSERT_EQ(notes[0].steps.size(), 2u);
  EXPECT_EQ(notes[0].steps[0].lock, allocator::LockStep::kOfGroup | 5);
  EXPECT_EQ(notes[0].steps[0].what, allocator::LockStep::What::take);
  EXPECT_EQ(notes[0].steps[1].what, allocator::LockStep::What::let_go);
  EXPECT_GT(notes[0].ns, notes[0].steps[1].ns);
}

// The model records its lock operations under every policy.
TEST(ManyWriters, AModelHoldsTheGroupThatServes) {
  test::Opened opened("corpus/mail-1k-aged.e4c");
  const Inputs& inputs = opened.inputs;
  replay::Session session = opened.session();
  ASSERT_TRUE(session.follow_recorded({nullptr, inputs.recorded}).ok());
  for (const allocator::Policy* policy : allocator::policies()) {
    replay::Setup setup = make_setup(*policy, inputs.recorded, inputs);
    setup.keep = [](replay::Accounts& accounts) {
      accounts.add<replay::DecisionRows>();
      accounts.add<replay::LockOperations>();
    };
    const auto run = session.what_if(setup);
    ASSERT_TRUE(run.ok()) << run.error().message;
    const auto& rows = run->engine->find<replay::DecisionRows>()->all();
    const allocator::LockNotes& notes = run->engine->find<replay::LockOperations>()->notes();
    ASSERT_EQ(notes.size(), rows.size());
    bool shares = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].block == 0) continue;
      const std::uint64_t group = inputs.source.geometry.group_of(rows[i].block);
      const auto held = [&](const allocator::LockStep& step) {
        return step.lock == (allocator::LockStep::kOfGroup | group);
      };
      EXPECT_TRUE(std::ranges::any_of(notes[i].steps, held)) << policy->name << ", " << i;
      EXPECT_GT(notes[i].ns, 0u);
      shares = shares || std::ranges::any_of(notes[i].steps, [](const allocator::LockStep& step) {
                 return step.what == allocator::LockStep::What::share;
               });
      const bool tried = std::ranges::any_of(notes[i].steps, [](const allocator::LockStep& step) {
        return step.what == allocator::LockStep::What::tries;
      });
      EXPECT_TRUE(policy->kernel.groups.tries_lock || !tried);
    }
    // A search holds the lock of a list in shared mode while it walks the list. It needs no lock
    // for a set.
    const bool asks =
        allocator::is_indexed(policy->kernel.groups.indexed, inputs.source.geometry.extents);
    EXPECT_EQ(shares, asks && run->engine->state().has_lists()) << policy->name;
  }
}

}  // namespace
}  // namespace e4r::app
