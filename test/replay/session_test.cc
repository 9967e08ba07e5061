// SPDX-License-Identifier: GPL-2.0-or-later
// Which policy is taken for the recorded kernel's when the trace alone does not say.
#include "replay/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/rig.h"
#include "support/workload.h"
#include "trace/e4t/file.h"
#include "trace/packed.h"

namespace e4r::test {
namespace {

// A file system on which a policy served `requests` requests, and their events.
struct Recorded {
  Recorded(std::string_view policy, std::size_t requests)
      : fs(model_shape("blocks_4k_forty_groups")) {
    Rng rng(1);
    const std::uint32_t all = fs.geometry().groups * fs.geometry().clusters_per_group;
    ModelFiles old = add_old_files(fs, rng, 8, all / 40, 30);
    Rig rig(policy, fs);
    tunables = rig.tunables;
    WorkloadOptions options;
    options.seed = 1;
    options.largest = all / 150;
    options.most_files = 40;
    Workload work(rig.allocator, fs, std::move(old), options);
    work.run(requests);
    EXPECT_TRUE(work.problems().empty());
    events = work.events();
  }

  // The policy under which the trace is followed when a kernel of that release made it.
  [[nodiscard]] std::string followed_under(std::string release) {
    std::string bytes;
    trace::e4t::Writer writer(bytes);
    writer.begin();
    trace::TraceSummary summary;
    for (const trace::Event& e : events) summary.add(e, nullptr);
    writer.add(events, trace::Generation::v6_5);
    summary.generation = trace::Generation::v6_5;
    writer.finish(summary);
    auto trace = trace::load_packed_bytes(bytes, "recorded");
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    replay::SessionOptions options;
    options.release = std::move(release);
    const state::Source source = fs.source();
    replay::Session session(source, *std::move(trace), options);
    const auto run = session.follow_recorded({nullptr, tunables});
    EXPECT_TRUE(run.ok()) << run.error().message;
    const replay::Agreement& agreement = run->engine->agreement();
    EXPECT_GT(agreement.requests, 0u);
    EXPECT_EQ(agreement.identical, agreement.requests);
    return std::string(run->engine->policy().name);
  }

  ModelFs fs;
  allocator::Tunables tunables;
  std::vector<trace::Event> events;
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
