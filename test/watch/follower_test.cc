// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/setups.h"
#include "replay/session.h"
#include "results/rows.h"
#include "trace/packed.h"
#include "watch/document.h"
#include "watch/half_seen.h"
#include "watch/pursuit.h"

namespace e4r::test {
namespace {

using watch::Backlog;
using watch::Follower;
using watch::Pursuit;
using watch::Window;

constexpr std::uint64_t kNever = UINT64_MAX;

std::vector<const allocator::Policy*> policies(std::initializer_list<std::string_view> names) {
  std::vector<const allocator::Policy*> out;
  for (const std::string_view name : names) out.push_back(allocator::find_policy(name));
  return out;
}

// Adds the events in pieces, as a watch reads them from the kernel's buffers.
void add_events(Backlog& backlog, std::span<const trace::Event> events) {
  constexpr std::size_t kPiece = 37;
  for (std::size_t at = 0; at < events.size(); at += kPiece) {
    const auto piece = events.subspan(at, std::min(kPiece, events.size() - at));
    backlog.add(piece, piece.back().time_ns);
  }
}

std::shared_ptr<Follower> follow(const watch::StartPoint& start,
                                 std::span<const trace::Event> events) {
  Backlog backlog;
  add_events(backlog, events);
  backlog.end();
  std::shared_ptr<Follower> follower = Follower::create(start);
  EXPECT_EQ(follower->run(backlog, kNever, 1 << 20), Follower::End::over) << follower->why();
  return follower;
}

watch::PursuitOptions begin_at_once(std::initializer_list<std::string_view> names) {
  watch::PursuitOptions out;
  out.kernel = policies(names);
  out.first_ns = 0;
  return out;
}

// The marker of events that were lost at the time of this event.
trace::Event lost_at(const trace::Event& event) {
  trace::Event out;
  out.kind = trace::EventKind::lost_events;
  out.dev = event.dev;
  out.time_ns = event.time_ns;
  out.count = 12;
  return out;
}

// Returns the follower's groups in the form in which a kernel shows its groups.
std::vector<state::MbGroup> groups_of(const Follower& follower) {
  const state::FsState& state = follower.recorded().state();
  std::vector<state::MbGroup> out;
  for (std::uint32_t group = 0; group < state.group_count(); ++group)
    out.push_back(shown_of(state.group(group)));
  return out;
}

// Waits until the follower has processed all events that can be processed by now.
void wait_until_caught_up(Follower& follower) {
  for (int round = 0; round < 2; ++round) {
    const auto before = follower.picture();
    follower.ask();
    while (follower.picture() == before) std::this_thread::yield();
  }
}

// A request that takes long, such as one that waits for a slow disk, holds back later operations.
// Their groups must not be compared before that.
TEST(Follower, ComparesNothingWhileOperationsWait) {
  const HalfSeen half("linux-7.3");
  watch::KernelGroups kernel;
  const auto all = half.events();
  kernel.groups = groups_of(*follow(half.start(true), all));
  const auto of_thread = [&](trace::EventKind kind, std::uint32_t pid) {
    return std::ranges::find_if(
        all, [=](const trace::Event& e) { return e.kind == kind && e.pid == pid; });
  };
  const auto request =
      std::ranges::find(all, trace::EventKind::request_blocks, &trace::Event::kind);
  ASSERT_NE(request, all.end());
  const auto answer = of_thread(trace::EventKind::allocate_blocks, request->pid);
  ASSERT_NE(answer, all.end());
  // Another thread makes the first request, and gets its answer after all other events.
  std::vector<trace::Event> events(all.begin(), all.end());
  const auto number_of = [&](auto event) { return event - all.begin(); };
  for (auto i = number_of(request); i <= number_of(answer); ++i)
    if (trace::Event& event = events[static_cast<std::size_t>(i)]; event.pid == request->pid)
      event.pid = 999'999;
  trace::Event late = events[static_cast<std::size_t>(number_of(answer))];
  events.erase(events.begin() + number_of(answer));
  late.time_ns = events.back().time_ns;
  kernel.after_ns = late.time_ns;

  Backlog backlog;
  const std::shared_ptr<Follower> follower = Follower::create(half.start(true));
  std::thread thread([&] { (void)follower->run(backlog, kNever, 1 << 20); });
  const std::uint64_t later = late.time_ns + 10'000'000'000;
  follower->begin_check(late.time_ns);
  follower->end_check(kernel);
  backlog.add(events, later);
  wait_until_caught_up(*follower);
  EXPECT_FALSE(follower->picture()->check) << follower->picture()->check->first;
  late.time_ns = later;
  backlog.add({{late}}, later + 10'000'000'000);
  wait_until_caught_up(*follower);
  backlog.end();
  thread.join();
  ASSERT_TRUE(follower->picture()->check);
  EXPECT_TRUE(follower->picture()->check->differing.empty()) << follower->picture()->check->first;
}

class LiveFollowing : public testing::TestWithParam<std::string_view> {};

// A live run has the same result as a replay of the same recording.
TEST_P(LiveFollowing, DecidesAsAReplayDoes) {
  const HalfSeen half(GetParam());
  watch::StartPoint start = half.start(true);
  start.shadows = policies({"linux-6.12", "legacy", "linux-7.3", "cr1.5"});
  const auto live = follow(start, half.events());

  replay::SessionOptions options;
  options.warm = std::make_shared<replay::WarmStart>(start.warm);
  replay::Session session(half.source(), packed_trace(half.events(), trace::Generation::v6_5),
                          options);
  const auto followed = session.follow({start.policy, start.tunables});
  ASSERT_TRUE(followed.ok());
  const replay::Agreement& agreement = live->recorded().agreement();
  EXPECT_GT(agreement.requests, 100u);
  EXPECT_EQ(agreement.requests, followed->engine->agreement().requests);
  if (session.warm()->precedences > 0) return;  // then a replay follows the trace a second time
  EXPECT_EQ(agreement.identical, followed->engine->agreement().identical);
  for (std::size_t i = 0; i < start.shadows.size(); ++i) {
    const auto replayed = session.what_if({start.shadows[i], start.tunables});
    ASSERT_TRUE(replayed.ok());
    ASSERT_NE(live->shadow(i), nullptr);
    EXPECT_EQ(live->shadow(i)->hash().value(), replayed->engine->hash().value())
        << start.shadows[i]->name;
    EXPECT_EQ(live->shadow(i)->tally().requests, replayed->engine->tally().requests);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LiveFollowing,
                         testing::Values("legacy", "linux-6.12", "linux-7.3"),
                         [](const auto& which) {
                           std::string out(which.param);
                           std::ranges::replace_if(
                               out, [](char c) { return !isalnum(c); }, '_');
                           return out;
                         });

// The follower forgets old requests to bound its memory. Forgetting changes no result.
TEST(Follower, ForgetsWhatNobodyNeeds) {
  const HalfSeen half("linux-7.3", 900);
  watch::StartPoint start = half.start(true);
  start.shadows = policies({"linux-6.12"});
  Backlog backlog;
  add_events(backlog, half.events());
  backlog.end();
  backlog.forget();
  const auto forgetful = Follower::create(start);
  ASSERT_EQ(forgetful->run(backlog, kNever, 0), Follower::End::over);
  const auto whole = follow(start, half.events());
  EXPECT_EQ(forgetful->recorded().agreement().identical, whole->recorded().agreement().identical);
  EXPECT_EQ(forgetful->shadow(0)->hash().value(), whole->shadow(0)->hash().value());
}

TEST(Follower, ShowsItsColumns) {
  const HalfSeen half("linux-7.3");
  watch::StartPoint start = half.start(true);
  start.shadows = policies({"linux-6.12", "legacy"});
  Backlog backlog;
  std::vector<trace::Event> events(half.events().begin(), half.events().end());
  // Spread the events over ten seconds.
  for (std::size_t i = 0; i < events.size(); ++i)
    events[i].time_ns = 1'000'000'000 + i * 10'000'000'000 / events.size();
  add_events(backlog, events);
  backlog.end();
  const auto follower = Follower::create(start);
  ASSERT_EQ(follower->run(backlog, kNever, 1 << 20), Follower::End::over);
  const auto picture = follower->picture();
  ASSERT_NE(picture, nullptr);
  EXPECT_EQ(picture->decisions, follower->recorded().agreement().requests);
  ASSERT_EQ(picture->columns.size(), 3u);
  EXPECT_EQ(picture->columns[0].name, "recorded");
  std::uint64_t in_buckets = 0;
  for (const std::uint64_t requests : picture->columns[0].groups.requests) in_buckets += requests;
  EXPECT_EQ(in_buckets, follower->recorded().tally().requests);
  EXPECT_EQ(picture->columns[2].name, "legacy");
  for (const watch::Column& column : picture->columns) {
    const auto& all = column.of(Window::start);
    ASSERT_TRUE(all);
    EXPECT_GE(all->elapsed_s, 9);
    EXPECT_GT(all->tally.requests, column.of(Window::second)->tally.requests);
    EXPECT_GT(all->files.files, 0u);
    EXPECT_GT(all->free.extents.count, 0u);
    // The histogram includes all requests so far, the counts only those up to the last whole
    // second.
    std::uint64_t requests = 0;
    for (const std::uint64_t in_bucket : column.groups.requests) requests += in_bucket;
    EXPECT_GE(requests, all->tally.requests);
    EXPECT_GE(column.groups.groups, all->searches.groups_considered().value_or(0));
  }
}

TEST(Follower, DropsItsShadows) {
  const HalfSeen half("linux-7.3");
  watch::StartPoint start = half.start(true);
  start.shadows = policies({"linux-6.12"});
  Backlog backlog;
  add_events(backlog, half.events());
  backlog.end();
  const auto follower = Follower::create(start);
  follower->shed("too slow");
  ASSERT_EQ(follower->run(backlog, kNever, 1 << 20), Follower::End::over);
  const auto picture = follower->picture();
  EXPECT_EQ(picture->dropped, std::vector<std::string>{"linux-6.12.77: too slow"});
  EXPECT_EQ(picture->columns.size(), 1u);
  EXPECT_EQ(follower->shadow(0), nullptr);
  EXPECT_GT(picture->identical, 100u);
}

// The kernel does not start, because there is no image that it could mount.
TEST(Follower, GoesOnWithoutAKernelThatDoesNotStart) {
  const HalfSeen half("linux-7.3");
  watch::StartPoint start = half.start(true);
  start.shadows = {*app::parse_policy("kernel:" FAKE_KERNEL), allocator::find_policy("linux-6.12")};
  const auto follower = follow(start, half.events());
  EXPECT_GT(follower->recorded().agreement().requests, 100u);
  EXPECT_EQ(follower->shadow(0), nullptr);
  ASSERT_NE(follower->shadow(1), nullptr);
  const std::vector<std::string>& dropped = follower->picture()->dropped;
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].find("kernel:fake_kernel: "), 0u) << dropped[0];
}

// Compares a follower with mb_groups, read after the last event. The groups of another follower
// take the place of the kernel's. If `differs`, group 3 has one more free cluster.
Follower::End compare(const HalfSeen& half, const Follower& other, bool differs,
                      std::uint64_t learn_at, std::shared_ptr<Follower>& follower) {
  Backlog backlog;
  add_events(backlog, half.events());
  const std::uint64_t last = half.events().back().time_ns;
  constexpr std::uint64_t kMargin = 2 * watch::GroupsComparison::kMarginNs;
  follower = Follower::create(half.start(true));
  watch::KernelGroups kernel;
  kernel.after_ns = last + 2 * kMargin;
  kernel.groups = groups_of(other);
  if (differs) kernel.groups[3].free += 1;
  follower->begin_check(last + kMargin);
  follower->end_check(kernel);
  std::thread time([&] {
    for (int step = 1; step <= 6; ++step) {
      backlog.add({}, last + step * kMargin);
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    backlog.end();
  });
  const Follower::End out = follower->run(backlog, learn_at, 1 << 20);
  time.join();
  return out;
}

TEST(Follower, ComparesWithTheKernelsGroups) {
  const HalfSeen half("linux-7.3");
  const auto other = follow(half.start(true), half.events());
  for (const bool differs : {false, true}) {
    std::shared_ptr<Follower> follower;
    ASSERT_EQ(compare(half, *other, differs, kNever, follower), Follower::End::over);
    ASSERT_TRUE(follower->picture()->check);
    EXPECT_EQ(follower->picture()->checks, 1u);
    const watch::GroupsCheck& check = *follower->picture()->check;
    EXPECT_EQ(check.differing,
              differs ? std::vector<std::uint32_t>{3} : std::vector<std::uint32_t>());
    EXPECT_EQ(check.compared, other->recorded().state().group_count());
  }
}

// Every decision agrees, but a group differs. Later events may show which of its clusters were in
// use in memory at the start.
TEST(Follower, LearnsFromGroupsThatDiffer) {
  const HalfSeen half("linux-7.3", 20, 5);
  const auto other = follow(half.start(true), half.events());
  ASSERT_EQ(other->recorded().agreement().differing(), 0u);
  std::shared_ptr<Follower> follower;
  EXPECT_EQ(compare(half, *other, false, 0, follower), Follower::End::over);
  EXPECT_EQ(compare(half, *other, true, 0, follower), Follower::End::learn_again);
  EXPECT_EQ(compare(half, *other, true, half.events().size() + 1, follower), Follower::End::over);
}

// The pursuit first follows with the state in memory that the counters show. Then it follows with
// the state that the events show.
TEST(Pursuit, LearnsFromDecisionsThatDiffer) {
  const HalfSeen half("linux-7.3");
  const auto cold = follow(half.start(false), half.events());
  const auto warm = follow(half.start(true), half.events());
  ASSERT_GT(cold->recorded().agreement().differing(), 0u) << "nothing to learn";
  const watch::PursuitOptions options = begin_at_once({"linux-7.3"});
  Pursuit pursuit(half.start(false), half.groups(), options);
  while (pursuit.follower() == nullptr) std::this_thread::yield();
  add_events(pursuit.backlog(), half.events());
  pursuit.backlog().end();
  pursuit.finish();
  EXPECT_TRUE(pursuit.has_ended());
  EXPECT_EQ(pursuit.why(), "");
  EXPECT_GT(pursuit.attempts(), 1u);
  EXPECT_EQ(pursuit.follower()->recorded().agreement().identical,
            warm->recorded().agreement().identical);
}

// If several policies may model the kernel, the pursuit must find the one that agrees.
TEST(Pursuit, TriesEveryPolicyOfTheKernel) {
  const HalfSeen half("linux-6.12");
  const watch::PursuitOptions options = begin_at_once({"linear", "linux-6.12"});
  Pursuit pursuit(half.start(false), half.groups(), options);
  while (pursuit.follower() == nullptr) std::this_thread::yield();
  add_events(pursuit.backlog(), half.events());
  pursuit.backlog().end();
  pursuit.finish();
  EXPECT_EQ(pursuit.follower()->recorded().policy().name, "linux-6.12.77");
}

TEST(Pursuit, EndsWhereEventsWereLost) {
  const HalfSeen half("linux-7.3");
  const watch::PursuitOptions options = begin_at_once({"linux-7.3"});
  Pursuit pursuit(half.start(true), half.groups(), options);
  std::vector<trace::Event> events(half.events().begin(), half.events().end());
  const auto middle = events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2);
  events.insert(middle, lost_at(*middle));
  add_events(pursuit.backlog(), events);
  while (!pursuit.has_ended()) std::this_thread::yield();
  EXPECT_EQ(pursuit.why(), "the kernel dropped events");
}

// A request whose answer was lost holds back all later operations. No event needs to follow.
TEST(Pursuit, EndsWhereAnAnswerWasLost) {
  const HalfSeen half("linux-7.3");
  const watch::PursuitOptions options = begin_at_once({"linux-7.3"});
  Pursuit pursuit(half.start(true), half.groups(), options);
  const auto all = half.events();
  const auto request =
      std::ranges::find(all, trace::EventKind::request_blocks, &trace::Event::kind);
  ASSERT_NE(request, all.end());
  std::vector<trace::Event> events(all.begin(), request + 1);
  events.push_back(lost_at(*request));
  add_events(pursuit.backlog(), events);
  while (!pursuit.has_ended()) std::this_thread::yield();
  EXPECT_EQ(pursuit.why(), "the kernel dropped events");
}

TEST(Pursuit, EndsAtOnceWhenNobodyWantsIt) {
  const HalfSeen half("linux-7.3");
  watch::PursuitOptions options;
  options.kernel = policies({"linux-7.3"});
  Pursuit pursuit(half.start(true), half.groups(), options);
}

// A figure that is added to the table appears in the document.
TEST(Document, HasARowOfEachFigure) {
  const HalfSeen half("linux-7.3");
  std::vector<trace::Event> events(half.events().begin(), half.events().end());
  for (std::size_t i = 0; i < events.size(); ++i) events[i].time_ns = i * 5'000'000;
  const auto follower = follow(half.start(true), events);
  watch::Report report;
  report.time = "2026-01-02T03:04:05Z";
  report.picture = follower->picture();
  results::add_row(
      {.label = "twice the requests",
       .key = "twice/requests",
       .of = [](const results::Outcome& o) -> results::Value { return 2 * o.tally.requests; }});
  const boost::json::value document = watch::report_json(report);
  const boost::json::value& column = document.at("columns").at(0);
  for (const char* window : {"second", "minute", "start"}) {
    const boost::json::value& figures = column.at(window);
    EXPECT_EQ(figures.at("twice").at("requests").to_number<std::uint64_t>(),
              2 * figures.at("requests").to_number<std::uint64_t>());
  }
  watch::ReportLines lines;
  const std::string text = lines.lines(report);
  EXPECT_EQ(text.find("03:04:05  recorded "), 0u) << text;
  const auto chosen = watch::ShownFigures::parse("twice/requests, failed");
  ASSERT_TRUE(chosen.ok());
  const watch::ReportLines two(*chosen);
  EXPECT_NE(two.head(report).find("allocator       twice/requests   failed  identical\n"),
            std::string::npos)
      << two.head(report);
}

TEST(ShownFigures, NameWhatIsWrong) {
  const auto message = [](std::string_view keys) {
    const auto parsed = watch::ShownFigures::parse(keys);
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(message("failed,requests_per_s"), "");
  EXPECT_EQ(message("nonsense\n").find("no figure 'nonsense?': choose from requests, failed, "),
            0u);
  EXPECT_EQ(message("failed,").find("no figure '': choose from "), 0u);
  EXPECT_EQ(message("failed,failed"), "'failed' is given twice");
}

}  // namespace
}  // namespace e4r::test
