// SPDX-License-Identifier: GPL-2.0-or-later
// Which policy is taken for the recorded kernel's when the trace alone does not say.
#include "replay/session.h"
#include "replay/engine.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/warm_start.h"
#include "support/busy_fs.h"
#include "support/drivers.h"
#include "trace/packed.h"

namespace e4r::test {
namespace {

// A file system on which a policy served requests for a number of steps, and their events.
struct Recorded {
  Recorded(std::string_view policy, std::uint32_t steps)
      : busy(policy, model_shape("blocks_4k_forty_groups"), 1) {
    busy.work.run(steps);
    EXPECT_TRUE(busy.work.problems().empty());
  }

  // The policy under which the trace is followed when a kernel of that release made it.
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
    EXPECT_EQ(sets.followed_under(release), "linux-6.12") << release;
  Recorded lists("linux-6.5", 600);
  for (const char* release : {"6.12.117", "6.18.44"})
    EXPECT_NE(lists.followed_under(release), "linux-6.12") << release;
}

// Nothing in the trace parts 6.14 and 6.5.
TEST(SessionFollows, ThePolicyOfTheReleaseAmongThoseThatFollowAlike) {
  for (const char* policy : {"linux-6.5", "linux-6.14"}) {
    Recorded lists(policy, 600);
    EXPECT_EQ(lists.followed_under("6.5.13"), "linux-6.5");
    EXPECT_EQ(lists.followed_under("6.14.0-foo"), "linux-6.14");
    EXPECT_EQ(lists.followed_under(""), "linux-6.14");
    EXPECT_EQ(lists.followed_under("6.8.0"), "linux-6.14") << "no policy stands for it";
  }
}

// Of two requests that overlap, the one that came last was served first.
struct Overlapping {
  static constexpr std::uint32_t kDecisions = 40;
  Overlapping() : fs(model_shape("blocks_4k_forty_groups")), rig("linux-7.3", fs) {
    TraceWriter writer(false);
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
  void serve(TraceWriter& writer, const TraceWriter::Open& open) {
    const allocator::Decision decision = rig.allocator.allocate(open.request);
    writer.finish(open, decision);
  }
  // The session has followed the trace and decided alone.
  [[nodiscard]] std::pair<replay::Agreement, replay::Agreement> agreements() {
    replay::SessionOptions options;
    options.check = true;
    replay::Session session(fs.source(), packed_trace(events, trace::Generation::v6_5), options);
    const replay::Setup setup = {&rig.allocator.policy(), rig.tunables};
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

// The decision is as recorded in neither order.
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

}  // namespace
}  // namespace e4r::test
