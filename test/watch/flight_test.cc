// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/flight.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/session.h"
#include "support/temp_dir.h"
#include "watch/backlog.h"
#include "watch/follower.h"
#include "watch/incidents.h"

namespace e4r::test {
namespace {

using watch::Backlog;
using watch::FlightRecorder;
using watch::Follower;
using watch::Incidents;
using watch::When;

constexpr std::uint64_t kSecond = 1'000'000'000;

app::Inputs opened(const std::string& path) {
  Progress progress{false};
  app::InputOptions options;
  options.image = path;
  auto out = app::open_inputs(options, {progress, [](const std::string&) {}});
  EXPECT_TRUE(out.ok()) << out.error().message;
  return *std::move(out);
}

// A follower of a bundled capture. Its events are a millisecond apart, or have their recorded
// times.
struct Followed {
  explicit Followed(const std::string& name, const FlightRecorder::Limits& limits,
                    bool recorded_times = false, std::vector<const allocator::Policy*> shadows = {})
      : inputs(opened(TRACES "/" + name)) {
    std::vector<trace::Event> events;
    const auto cursor = inputs.trace.cursor();
    for (auto batch = cursor->next(); batch.ok() && !batch->empty(); batch = cursor->next())
      events.insert(events.end(), batch->begin(), batch->end());
    for (std::size_t i = 0; i < events.size() && !recorded_times; ++i)
      events[i].time_ns = (i + 1) * kSecond / 1000;
    all = events.size();
    watch::StartPoint start{.source = inputs.source,
                            .image_path = inputs.image_path,
                            .tunables = inputs.recorded,
                            .warm = {},
                            .policy = allocator::find_policy("linux-7.3"),
                            .shadows = std::move(shadows),
                            .keep = limits};
    follower = Follower::create(start);
    Backlog backlog;
    backlog.add(events, events.back().time_ns);
    backlog.end();
    EXPECT_EQ(follower->run(backlog, UINT64_MAX, 1 << 30), Follower::End::over);
  }
  [[nodiscard]] const FlightRecorder& flight() const { return *follower->flight(); }
  [[nodiscard]] watch::FlightNotes notes() const {
    watch::FlightNotes out;
    out.start = inputs.capture->start();
    out.tunables = *inputs.capture->text(capture::text_name::kTunables);
    out.generation = inputs.trace.summary().generation;
    out.image_path = inputs.image_path;
    out.reason = "a test";
    return out;
  }

  app::Inputs inputs;
  std::size_t all = 0;
  std::unique_ptr<Follower> follower;
};

std::size_t events_in(const FlightRecorder::Kept& kept) {
  std::size_t out = 0;
  EXPECT_TRUE(kept.for_each([&](std::span<const trace::Event> events) {
                    out += events.size();
                    return Status();
                  })
                  .ok());
  return out;
}

TEST(FlightRecorder, WritesACaptureThatVerifies) {
  const TempDir dir;
  const std::string path = dir.path() + "/last.e4c";
  const Followed followed("linux618-churn-4k.e4c", {5 * kSecond, 64 << 20});
  ASSERT_EQ(followed.follower->recorded().agreement().differing(), 0u);
  const auto kept = followed.flight().kept();
  ASSERT_TRUE(kept);
  ASSERT_LT(events_in(*kept), followed.all / 2) << "the test needs a longer capture";
  ASSERT_TRUE(watch::write_flight(*kept, followed.notes(), path).ok());

  const app::Inputs last = opened(path);
  ASSERT_TRUE(last.warm && last.warm->checkpoint);
  EXPECT_EQ(last.trace.events(), events_in(*kept));
  replay::SessionOptions options;
  options.warm = std::make_shared<replay::WarmStart>(*last.warm);
  replay::Session session(last.source, last.trace, options);
  const replay::Setup setup = {allocator::find_policy("linux-7.3"), last.recorded};
  const auto run = session.follow(setup);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_GT(run->engine->agreement().requests, 100u);
  EXPECT_EQ(run->engine->agreement().differing(), 0u);
  const auto alone = session.free_run(setup);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->engine->agreement().differing(), 0u);
  // Both runs must end with the same bitmaps.
  std::vector<std::uint64_t> here, there;
  for (std::uint32_t group = 0; group < last.source.geometry.groups; ++group) {
    run->engine->state().settled_words(group, here);
    followed.follower->recorded().state().settled_words(group, there);
    EXPECT_EQ(here, there) << "group " << group;
  }
  for (const allocator::Policy* policy : allocator::policies())
    EXPECT_TRUE(
        session.what_if({policy, last.recorded, nullptr, nullptr, replay::Setup::kOften}).ok())
        << policy->name;
}

// A live run does not know where a FITRIM will end, but each event of it names a range. The
// recorder takes no checkpoint while a range is in use.
TEST(FlightRecorder, FollowsDiscardsBesideWriters) {
  for (const char* capture : {"trim-beside.e4c", "discard-beside.e4c"}) {
    const Followed followed(capture, {kSecond, 64 << 20}, true);
    const replay::Agreement& agreement = followed.follower->recorded().agreement();
    EXPECT_GT(agreement.requests, 800u);
    EXPECT_EQ(agreement.differing(), 0u) << capture;
    EXPECT_TRUE(followed.flight().kept()) << capture;
  }
}

// A shadow deduces the minlen of a FITRIM from the runs of each group, but a replay deduces it from
// the whole trace. So their discards are almost, but not exactly, the same.
TEST(FlightRecorder, ShowsShadowsFitrim) {
  const std::vector<const allocator::Policy*> shadows = {allocator::find_policy("linux-6.12"),
                                                         allocator::find_policy("legacy")};
  for (const char* capture : {"trim-beside.e4c", "fitrim-7.3.e4c"}) {
    const Followed live(capture, {kSecond, 64 << 20}, true, shadows);
    replay::SessionOptions options;
    options.warm = std::make_shared<replay::WarmStart>();
    replay::Session session(live.inputs.source, live.inputs.trace, options);
    for (std::size_t i = 0; i < shadows.size(); ++i) {
      const auto replayed = session.what_if({shadows[i], live.inputs.recorded});
      ASSERT_TRUE(replayed.ok()) << replayed.error().message;
      const auto sent = static_cast<double>(live.follower->shadow(i)->discards()->counts().blocks);
      const auto whole = static_cast<double>(replayed->engine->discards()->counts().blocks);
      EXPECT_GT(whole, 100'000);
      EXPECT_NEAR(sent / whole, 1, 0.1) << capture << ": " << shadows[i]->name;
    }
  }
}

// If a kernel's code fails, only its own column is lost.
TEST(FlightRecorder, GoesOnWithoutAKernelThatEnds) {
  const TempDir dir;
  std::filesystem::copy_file(FAKE_KERNEL, dir.file("dies"));
  const Followed live(
      "trim-beside.e4c", {kSecond, 64 << 20}, true,
      {*app::parse_policy("kernel:" + dir.file("dies")), allocator::find_policy("linux-6.12")});
  const std::uint64_t requests = live.follower->recorded().agreement().requests;
  EXPECT_GT(requests, 800u);
  EXPECT_EQ(live.follower->shadow(0), nullptr);
  ASSERT_NE(live.follower->shadow(1), nullptr);
  EXPECT_GT(live.follower->shadow(1)->tally().requests, requests / 2);
  const std::vector<std::string>& dropped = live.follower->picture()->dropped;
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].find("kernel:dies: "), 0u) << dropped[0];
}

TEST(FlightRecorder, ReachesBackAsFarAsItIsTold) {
  for (const std::uint64_t seconds : {2, 4, 8}) {
    const Followed followed("linux618-churn-4k.e4c", {seconds * kSecond, 64 << 20});
    const auto held = followed.flight().held();
    EXPECT_GE(held.seconds, static_cast<double>(seconds));
    EXPECT_LE(held.seconds, 1.5 * static_cast<double>(seconds) + 1);
  }
}

TEST(FlightRecorder, KeepsAsManyBytesAsItIsTold) {
  const Followed large("linux618-churn-4k.e4c", {0, 64 << 20});
  EXPECT_GE(events_in(*large.flight().kept()),
            large.all - 10);  // before the first quiet point
  const std::uint64_t all = large.flight().held().bytes;
  const Followed small("linux618-churn-4k.e4c", {0, all / 3});
  EXPECT_LT(events_in(*small.flight().kept()), small.all);
  EXPECT_LT(small.flight().held().bytes, all * 2 / 3);
}

TEST(FlightRecorder, SaysInOneLineThatADiskIsFull) {
  const Followed followed("linux618-churn-4k.e4c", {5 * kSecond, 64 << 20});
  const auto kept = followed.flight().kept();
  ASSERT_TRUE(kept);
  const Status status = watch::write_flight(*kept, followed.notes(), "/dev/full");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(std::ranges::count(status.error().message, '\n'), 0);
  EXPECT_NE(status.error().message.find("No space left"), std::string::npos)
      << status.error().message;
}

// Returns a picture in which the recorded kernel had `requests` requests in the last second.
watch::Picture picture_of(std::uint64_t requests, std::uint64_t second) {
  watch::Picture out;
  out.followed_ns = second * kSecond;
  watch::Column& column = out.columns.emplace_back();
  column.name = "recorded";
  results::Outcome& outcome =
      column.windows[static_cast<std::size_t>(watch::Window::second)].emplace();
  outcome.tally.requests = requests;
  outcome.elapsed_s = 1;
  return out;
}

TEST(When, BecomesTrueOnceItHasHeldLongEnough) {
  auto when = When::parse("requests > 100 && !(requests > 1000) for 2s", {});
  ASSERT_TRUE(when.ok()) << when.error().message;
  std::string answers;
  std::uint64_t second = 0;
  for (const std::uint64_t requests : {50, 200, 200, 200, 200, 2000, 200, 200, 200, 50, 200})
    answers += when->becomes_true(picture_of(requests, ++second)) ? '1' : '0';
  EXPECT_EQ(answers, "00010000100");
}

TEST(When, KnowsShadowsAndMinutes) {
  const std::vector<const allocator::Policy*> shadows = {allocator::find_policy("legacy")};
  EXPECT_TRUE(When::parse("legacy:groups_per_request > 2 * groups_per_request", shadows).ok());
  EXPECT_TRUE(When::parse("minute:failed > 0", shadows).ok());
  EXPECT_FALSE(When::parse("linux-7.3:failed > 0", shadows).ok());
  EXPECT_FALSE(When::parse("", shadows).ok());
  EXPECT_FALSE(When::parse("failed > 0 for a while", shadows).ok());
  auto absent = When::parse("legacy:failed == 0", shadows);
  EXPECT_FALSE(absent->becomes_true(picture_of(1, 1))) << "a dropped shadow has no figures";
}

TEST(Incidents, WaitsCoolsDownAndEnds) {
  using std::chrono::seconds;
  const TempDir dir;
  const Followed followed("linux618-churn-4k.e4c", {5 * kSecond, 64 << 20});
  watch::IncidentOptions options;
  options.output = dir.path() + "/bad.e4c";
  options.when = *When::parse("requests > 100", {});
  options.most_files = 2;
  Incidents incidents(options);
  std::vector<std::string> notes;
  Incidents::Time now{};
  incidents.look(picture_of(200, 1), now, notes);
  EXPECT_FALSE(incidents.is_due(now));
  EXPECT_TRUE(incidents.is_due(now + seconds(5)));
  incidents.write(followed.flight().kept(), followed.notes(), nullptr, notes);
  incidents.collect(true, notes);
  EXPECT_EQ(incidents.last_file(), options.output);
  EXPECT_EQ(notes.back(), "requests > 100: wrote " + options.output);
  incidents.look(picture_of(10, 2), now += seconds(10), notes);
  incidents.look(picture_of(200, 3), now, notes);
  EXPECT_FALSE(incidents.is_wanted()) << "it cools down";
  incidents.ask("key c", false, now, notes);  // a request by the user is not delayed
  EXPECT_TRUE(incidents.is_due(now + seconds(5)));
  incidents.write(std::nullopt, followed.notes(), nullptr, notes);
  EXPECT_EQ(notes.back(), "key c: no capture, because nothing was kept yet");
  incidents.ask("key c", false, now, notes);
  incidents.write(followed.flight().kept(), followed.notes(), nullptr, notes);
  incidents.collect(true, notes);
  EXPECT_EQ(incidents.last_file(), dir.path() + "/bad-2.e4c");
  incidents.ask("key c", false, now, notes);
  EXPECT_FALSE(incidents.is_wanted());
  EXPECT_NE(notes.back().find("because 2 files"), std::string::npos) << notes.back();
}

}  // namespace
}  // namespace e4r::test
