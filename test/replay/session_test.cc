// SPDX-License-Identifier: GPL-2.0-or-later
// If several policies agree with the trace, a session must choose one of them as the policy of the
// recorded kernel. Tests which one it chooses.
#include "replay/session.h"
#include "replay/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replay/warm_start.h"
#include "support/busy_fs.h"
#include "support/drivers.h"
#include "trace/packed.h"

namespace e4r::test {
namespace {

// A file system on which a policy served requests for a number of steps, and the events of this
// run.
struct Recorded {
  Recorded(std::string_view policy, std::uint32_t steps)
      : busy(policy, model_shape("blocks_4k_forty_groups"), 1) {
    busy.work.run(steps);
    EXPECT_TRUE(busy.work.problems().empty());
  }

  // Returns the policy that is chosen if a kernel of that release made the trace.
  [[nodiscard]] std::string followed_under(std::string release) {
    replay::SessionOptions options;
    options.release = std::move(release);
    replay::Session session(busy.fs.source(),
                            packed_trace(busy.work.events(), trace::Generation::v6_5), options);
    const auto run = session.follow_recorded({nullptr, busy.rig.tunables});
    EXPECT_TRUE(run.ok()) << run.error().message;
    const replay::Agreement& agreement = run->engine->agreement();
    EXPECT_GT(agreement.requests, 0u);
    EXPECT_EQ(agreement.identical, agreement.requests);
    return std::string(run->engine->policy().name);
  }

  BusyFs busy;
};

TEST(SessionFollows, ThePolicyThatFollowsMostWhateverTheRelease) {
  Recorded sets("linux-6.12", 600);
  for (const char* release : {"", "6.5.0", "6.12.117", "6.14.0", "6.18.44"})
    EXPECT_EQ(sets.followed_under(release), "linux-6.12.77") << release;
  Recorded lists("linux-6.5", 600);
  for (const char* release : {"6.12.117", "6.18.44"})
    EXPECT_NE(lists.followed_under(release), "linux-6.12.77") << release;
}

TEST(SessionFollows, SaysWhichPoliciesTheReleaseAllows) {
  Recorded sets("linux-6.12.77", 60);
  const auto allowed = [&](std::string release) {
    replay::SessionOptions options;
    options.release = std::move(release);
    const replay::Session session(sets.busy.fs.source(),
                                  packed_trace(sets.busy.work.events(), trace::Generation::v6_5),
                                  options);
    std::string out;
    for (const allocator::Policy* policy : session.allowed())
      out += std::string(policy->name) + " ";
    return out;
  };
  EXPECT_EQ(allowed(""), "");
  EXPECT_EQ(allowed("6.12.117"), "linux-6.12.77 ");
  EXPECT_EQ(allowed("6.18.44"), "linux-7.3 linux-6.17 ");
  EXPECT_EQ(allowed("6.6.0-14-generic"), "linux-6.6.128 linux-6.6.103 linux-6.6.24 linux-6.6.0 ");
  EXPECT_EQ(allowed("6.1.192"), "") << "prints other traces";
  EXPECT_EQ(allowed("6.12.0-1.el9_lustre.x86_64"), "");
}

// All kernels with lists make the same decisions in this trace, so the release determines the
// policy.
TEST(SessionFollows, ThePolicyOfTheReleaseAmongThoseThatFollowAlike) {
  for (const char* policy : {"linux-6.5", "linux-6.14"}) {
    Recorded lists(policy, 600);
    EXPECT_EQ(lists.followed_under("6.5.13"), "linux-6.5");
    EXPECT_EQ(lists.followed_under("6.14.0-foo"), "linux-6.14");
    EXPECT_EQ(lists.followed_under("6.8.0"), "linux-6.8");
    EXPECT_EQ(lists.followed_under(""), "linux-6.12.43") << "the latest rules";
  }
}

// A trace in which two requests overlap, and the later one was served first.
struct Overlapping {
  static constexpr std::uint32_t kDecisions = 40;
  Overlapping() : fs(model_shape("blocks_4k_forty_groups")), rig("linux-7.3", fs) {
    KernelTraceWriter writer(false);
    const Thread one = {.pid = 1, .cpu = 0}, two = {.pid = 2, .cpu = 1};
    const allocator::Request outer = metadata_request(1, 0), inner = metadata_request(3, 0);
    const auto outer_open = writer.open(one, outer, outer.len);
    const auto inner_open = writer.open(two, inner, inner.len);
    serve(writer, inner_open);
    serve(writer, outer_open);
    for (std::uint32_t i = 2; i < kDecisions; ++i)
      serve(writer, writer.open(one, outer, outer.len));
    events = writer.events();
  }
  void serve(KernelTraceWriter& writer, const KernelTraceWriter::Open& open) {
    const allocator::Decision decision = rig.allocator.allocate(open.request);
    writer.finish(open, decision);
  }
  // Returns the agreement with the trace when following it, and in a free-running replay.
  [[nodiscard]] std::pair<replay::Agreement, replay::Agreement> agreements() {
    replay::Session session(fs.source(), packed_trace(events, trace::Generation::v6_5), {});
    replay::Setup setup = {&rig.allocator.policy(), rig.tunables};
    setup.check_every = replay::Setup::kOften;
    auto followed = session.follow(setup);
    auto alone = session.free_run(setup);
    EXPECT_TRUE(followed.ok() && alone.ok());
    return {followed->engine->agreement(), alone->engine->agreement()};
  }

  ModelFs fs;
  Rig rig;
  std::vector<trace::Event> events;
};

TEST(SessionFollows, TheOrderOfAnswersWhereThatGivesWhatWasRecorded) {
  Overlapping recorded;
  replay::InputTable inputs;
  const Replayed by_requests =
      replay_as(Driver::follow, recorded.fs.source(), recorded.rig.allocator.policy(),
                recorded.rig.tunables, recorded.events, inputs);
  ASSERT_TRUE(by_requests.status.ok());
  ASSERT_LT(by_requests.engine->agreement().identical, Overlapping::kDecisions)
      << "the order matters";
  const auto [followed, alone] = recorded.agreements();
  EXPECT_EQ(followed.identical, Overlapping::kDecisions);
  EXPECT_EQ(followed.late, 1u);
  EXPECT_EQ(followed.races, 0u);
  EXPECT_EQ(alone.identical, Overlapping::kDecisions);
}

// Neither order of the two requests gives the recorded decision.
TEST(SessionFollows, NoOrderThatDoesNotGiveWhatWasRecorded) {
  Overlapping recorded;
  for (trace::Event& e : recorded.events)
    if (e.kind == trace::EventKind::mballoc_alloc && e.result.len == 1) {
      e.result.start += 500;
      break;
    }
  const auto [followed, alone] = recorded.agreements();
  EXPECT_LT(followed.identical, Overlapping::kDecisions);
  EXPECT_EQ(followed.late, 0u);
  EXPECT_GT(followed.races, 0u);
}

// The free-running replay must use the order that a first pass has found.
TEST(SessionBeside, ARunDecidesAloneInTheOrderThatWasFound) {
  Overlapping recorded;
  replay::Session session(recorded.fs.source(),
                          packed_trace(recorded.events, trace::Generation::v6_5), {});
  const auto both =
      session.follow_beside_alone({&recorded.rig.allocator.policy(), recorded.rig.tunables});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->run.engine->agreement().identical, Overlapping::kDecisions);
  ASSERT_TRUE(both->alone.has_value());
  EXPECT_EQ(both->alone->engine->agreement().identical, Overlapping::kDecisions);
}

// A session that has followed a trace, and setups for its replays.
struct Replayable {
  Replayable()
      : recorded("linux-6.5", 6000),
        session(recorded.busy.fs.source(),
                packed_trace(recorded.busy.work.events(), trace::Generation::v6_5), {}) {
    EXPECT_TRUE(session.follow(setup("linux-6.5", 200)).ok());
  }
  [[nodiscard]] replay::Setup setup(std::string_view policy, std::uint32_t max_to_scan) const {
    replay::Setup out = {allocator::find_policy(policy), recorded.busy.rig.tunables};
    out.tunables.mb_max_to_scan = max_to_scan;
    return out;
  }
  [[nodiscard]] std::uint64_t hash_alone(const replay::Setup& setup) const {
    const auto run = session.what_if(setup);
    EXPECT_TRUE(run.ok());
    return run.ok() ? run->engine->hash().value() : 0;
  }

  Recorded recorded;
  replay::Session session;
};

// Replays that run together must have the same results as separate replays. With an unrecorded
// policy, overlapping requests get other results, so the session also tries other orders.
TEST(SessionBeside, EachRunIsWhatItIsAlone) {
  for (const bool recorded : {true, false}) {
    Replayable trace;
    const replay::Setup setup = trace.setup(recorded ? "linux-6.5" : "legacy", 200);
    const auto both = trace.session.follow_beside_alone(setup);
    const auto followed = trace.session.follow(setup);
    ASSERT_TRUE(both.ok() && followed.ok());
    EXPECT_EQ(both->run.engine->hash().value(), followed->engine->hash().value());
    EXPECT_EQ(both->run.engine->agreement().identical, followed->engine->agreement().identical);
    ASSERT_TRUE(both->alone.has_value());
    const auto alone = trace.session.free_run(setup);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(both->alone->engine->hash().value(), alone->engine->hash().value());
    EXPECT_EQ(both->alone->engine->agreement().identical, alone->engine->agreement().identical);
    EXPECT_GT(alone->engine->decisions(), 3000u);
  }
}

TEST(SessionInLockstep, EachRunIsWhatItIsAlone) {
  const Replayable trace;
  std::vector<replay::Setup> setups;
  for (const char* policy : {"legacy", "linux-6.5", "linux-6.12"})
    for (const std::uint32_t most : {1u, 10u, 200u}) setups.push_back(trace.setup(policy, most));
  const auto runs = trace.session.what_if_in_lockstep(setups);
  ASSERT_EQ(runs.size(), setups.size());
  std::set<std::uint64_t> hashes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ASSERT_TRUE(runs[i].ok()) << runs[i].error().message;
    EXPECT_EQ(runs[i]->engine->hash().value(), trace.hash_alone(setups[i])) << i;
    EXPECT_GT(runs[i]->engine->decisions(), 3000u);
    EXPECT_GT(runs[i]->elapsed_s, runs[i]->ready_s);
    hashes.insert(runs[i]->engine->hash().value());
  }
  EXPECT_GT(hashes.size(), 3u) << "the setups decide alike";
}

TEST(SessionInLockstep, OneThatStopsLeavesTheOthersAsTheyAre) {
  const Replayable trace;
  std::vector<replay::Setup> setups(3, trace.setup("linux-6.5", 10));
  setups[1].keep = [](replay::Accounts& accounts) {
    accounts.add<replay::DecisionWatch>(
        [](const replay::Decided& one) { return one.decision < 1000; });
  };
  const auto runs = trace.session.what_if_in_lockstep(setups);
  ASSERT_EQ(runs.size(), 3u);
  ASSERT_TRUE(!runs[1].ok());
  EXPECT_EQ(runs[1].error().message, "stopped");
  for (const std::size_t i : {0u, 2u}) {
    ASSERT_TRUE(runs[i].ok());
    EXPECT_EQ(runs[i]->engine->hash().value(), trace.hash_alone(setups[0]));
  }
}

TEST(SessionInLockstep, OneThatCannotBeginLeavesTheOthersAsTheyAre) {
  const Replayable trace;
  std::vector<replay::Setup> setups(2, trace.setup("linux-6.5", 10));
  setups[0].make = [](const replay::Setup&,
                      const replay::WarmStart*) -> Result<std::unique_ptr<allocator::Decider>> {
    return error("no kernel");
  };
  const auto runs = trace.session.what_if_in_lockstep(setups);
  ASSERT_TRUE(!runs[0].ok() && runs[1].ok());
  EXPECT_EQ(runs[0].error().message, "no kernel");
  EXPECT_EQ(runs[1]->engine->hash().value(), trace.hash_alone(setups[1]));
  EXPECT_TRUE(!trace.session.what_if(setups, 0).ok());
}

TEST(SessionInLockstep, EveryThreadHasSomethingToDo) {
  const Replayable trace;
  const auto of = [&](std::size_t setups, unsigned threads) {
    return trace.session.in_lockstep(std::vector(setups, trace.setup("legacy", 1)), threads);
  };
  EXPECT_EQ(of(0, 2), 1u);
  EXPECT_EQ(of(2, 2), 1u);
  EXPECT_EQ(of(3, 2), 2u);
  EXPECT_EQ(of(5, 1), 5u);
  EXPECT_EQ(of(64, 1), 8u);
  EXPECT_EQ(of(18, 2), 5u) << "four parts, and not three of 8, 8 and 2";
  EXPECT_EQ(of(64, 64), 1u);
}

}  // namespace
}  // namespace e4r::test
