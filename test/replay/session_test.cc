// SPDX-License-Identifier: GPL-2.0-or-later
// Which policy is taken for the recorded kernel's when the trace alone does not say.
#include "replay/session.h"

#include <gtest/gtest.h>

#include <string>

#include "support/busy_fs.h"

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

}  // namespace
}  // namespace e4r::test
