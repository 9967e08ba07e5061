// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/allocator.h>
#include <e4replay/own_policy.h>
#include <e4replay/replay.h>

#include <array>
#include <atomic>
#include <thread>

#include "library/capture.h"

namespace e4replay_test {
namespace {

using e4replay::Recording;
using e4replay::Report;
using e4replay::Sweep;
using e4replay::Value;

class LibraryReplay : public WithCapture {
 protected:
  static void SetUpTestSuite() {
    WithCapture::SetUpTestSuite();
    recording_ = std::make_unique<Recording>(*Recording::open(capture()));
  }
  static void TearDownTestSuite() {
    recording_.reset();
    WithCapture::TearDownTestSuite();
  }
  static const Recording& recording() { return *recording_; }

 private:
  inline static std::unique_ptr<Recording> recording_;
};

std::string names(const Report& report) {
  std::string out;
  for (const e4replay::Column& column : report.columns())
    out += (out.empty() ? "" : " ") + column.name;
  return out;
}

// Removes the times, which differ from run to run.
std::string without_times(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find("_s\"") == std::string::npos && line.find("per_s") == std::string::npos &&
        line.find("requests/s") == std::string::npos && line.find(" s ") == std::string::npos)
      out += line + "\n";
    at = end + 1;
  }
  return out;
}

TEST_F(LibraryReplay, SaysWhatTheToolSays) {
  const auto report = replay(recording(), {.policies = {"legacy", "cr1.5"}});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(names(*report), "recorded legacy cr1.5");
  EXPECT_EQ(report->recorded_policy(), "legacy");
  EXPECT_TRUE(report->agreement().complete());
  EXPECT_FALSE(report->agrees());
  EXPECT_EQ(without_times(report->json()),
            without_times(printed({"replay", capture(), "-p", "legacy,cr1.5", "--json", "-"})));
  EXPECT_EQ(without_times(report->text()),
            without_times(printed({"replay", capture(), "-p", "legacy,cr1.5"})));
}

TEST_F(LibraryReplay, HasRowsOfFigures) {
  const auto report = replay(recording(), {.policies = {"linux-6.12.77"}});
  ASSERT_TRUE(report.ok()) << report.error().message;
  bool found = false;
  for (const e4replay::Row& row : report->rows()) {
    ASSERT_EQ(row.values.size(), 2u) << row.key;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(row.values[i], report->value(row.key, i));
    if (row.key != "free_extents/count") continue;
    found = true;
    EXPECT_TRUE(row.shown);
    EXPECT_EQ(row.better, e4replay::Better::lower);
    EXPECT_EQ(row.start, Value(report->free_extents_before().count));
    EXPECT_EQ(row.values[1], Value(report->free_extents(1)->count));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(report->value("none", 0), Value());
  EXPECT_EQ(report->value("requests", 2), Value());
  EXPECT_FALSE(report->free_extents(2).has_value());
  EXPECT_EQ(report->free_extents_before(), *recording().image().free_extents());
}

TEST_F(LibraryReplay, VerifiesAsTheToolDoes) {
  const auto report = verify(recording());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->agrees());
  EXPECT_TRUE(report->agreement().complete());
  EXPECT_FALSE(report->agreement().first.has_value());
  EXPECT_EQ(names(*report), "legacy");
  EXPECT_EQ(without_times(report->text()), without_times(printed({"verify", capture()})));
  EXPECT_EQ(without_times(report->json()),
            without_times(printed({"verify", capture(), "--json", "-"})));
}

TEST_F(LibraryReplay, NamesTheDecisionWhereAPolicyParts) {
  e4replay::VerifyOptions options;
  options.policy = "legacy";
  options.settings = {"mb_group_prealloc=64"};
  for (const bool free_run : {false, true}) {
    options.free_run = free_run;
    const auto report = verify(recording(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_FALSE(report->agrees());
    const e4replay::Agreement agreement = report->agreement();
    EXPECT_LT(agreement.identical, agreement.decisions);
    ASSERT_TRUE(agreement.first.has_value());
    EXPECT_GT(agreement.first->event, 0u);
    EXPECT_NE(agreement.first->recorded, agreement.first->modelled);
  }
}

TEST_F(LibraryReplay, GivesTheSamePointsInThreads) {
  const auto sweep = Sweep::follow(recording());
  ASSERT_TRUE(sweep.ok()) << sweep.error().message;
  const std::vector<std::string> settings = {"mb_max_to_scan=20"};
  const auto wanted = replay(recording(), {.policies = {"cr1.5"}, .settings = settings});
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  std::atomic<int> same = 0;
  {
    constexpr int kThreads = 3;
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, points = *sweep] {
        const auto point = points.point("cr1.5", settings);
        if (!point.ok() || names(*point) != "cr1.5" || point->text().empty()) return;
        const auto rows = point->rows();
        const auto others = wanted->rows();
        for (std::size_t row = 0; row < rows.size(); ++row)
          if (rows[row].values[0] != others[row].values[1]) return;
        ++same;
      });
  }
  EXPECT_EQ(same, 3);
  EXPECT_FALSE(sweep->point("none").ok());
  EXPECT_FALSE(sweep->point("legacy", {"mb_none=1"}).ok());
}

TEST_F(LibraryReplay, StopsWhenTheListenerSaysSo) {
  std::atomic<int> calls = 0;
  e4replay::Listener listener;
  listener.progress = [&](std::string_view, std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    ++calls;
    return false;
  };
  const auto report = replay(recording(), {}, listener);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "stopped");
  EXPECT_EQ(calls, 1);
}

TEST_F(LibraryReplay, RefusesUnknownPoliciesAndSettings) {
  const auto policy = replay(recording(), {.policies = {"legacy", "best"}});
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().message.rfind("unknown policy 'best'", 0), 0u);
  const auto setting = replay(recording(), {.settings = {"mb_max_to_scan=many"}});
  ASSERT_FALSE(setting.ok());
  EXPECT_EQ(setting.error().message.rfind("mb_max_to_scan: ", 0), 0u);
  e4replay::VerifyOptions options;
  options.policy = "best";
  EXPECT_FALSE(verify(recording(), options).ok());
  options.policy = "";
  options.settings = {"mb_none=1"};
  EXPECT_FALSE(verify(recording(), options).ok());
}

TEST_F(LibraryReplay, BeginsAnAllocatorWithTheStartImage) {
  auto allocator = e4replay::Allocator::create(recording());
  ASSERT_TRUE(allocator.ok()) << allocator.error().message;
  EXPECT_EQ(allocator->free_extents(), *recording().image().free_extents());
  e4replay::Request request;
  request.ino = 12;
  request.len = 1;
  const auto decision = allocator->allocate(request);
  ASSERT_TRUE(decision.ok()) << decision.error().message;
  EXPECT_TRUE(decision->success);
}

TEST_F(LibraryReplay, TellsOfEachRequest) {
  const auto sweep = Sweep::follow(recording());
  ASSERT_TRUE(sweep.ok());
  std::uint64_t requests = 0, number = 0, examined = 0;
  const auto report = sweep->decisions("cr1.5", {}, [&](const e4replay::ReplayedDecision& request) {
    EXPECT_GE(request.number, number);
    EXPECT_GT(request.event, 0u);
    number = request.number;
    ++requests;
    examined += request.decision.extents_examined;
    return true;
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(Value(requests), report->value("requests", 0));
  EXPECT_EQ(Value(examined), report->value("mb_stats/extents_scanned", 0));

  requests = 0;
  const auto stopped = sweep->decisions(
      "cr1.5", {}, [&](const e4replay::ReplayedDecision&) { return ++requests < 10; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, "stopped");
  EXPECT_EQ(requests, 10u);
}

TEST_F(LibraryReplay, TakesAPolicyOfTheProgram) {
  namespace plugin = e4replay::plugin;
  plugin::host = &e4replay::plugin_host();
  const std::array ladder = {plugin::cr0(), plugin::cr1(), plugin::cr2(), plugin::cr3()};
  plugin::Policy policy;
  policy.name = "mine";
  policy.summary = "legacy under another name";
  policy.source = "here";
  policy.ladder = ladder.data();
  policy.rungs = ladder.size();
  const auto name = e4replay::add_policy(policy);
  ASSERT_TRUE(name.ok()) << name.error().message;
  const auto again = e4replay::add_policy(policy);  // another policy of the same name
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_NE(*name, *again);
  const auto report = replay(recording(), {.policies = {"legacy", *name}});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(names(*report), "recorded legacy mine");
  for (const char* key : {"requests", "mb_stats/extents_scanned", "free_extents/count"})
    EXPECT_EQ(report->value(key, 1), report->value(key, 2)) << key;

  e4replay::remove_policy(*name);
  e4replay::remove_policy("program:");
  e4replay::remove_policy("nobody");
  const auto gone = replay(recording(), {.policies = {*name}});
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message.find("unknown policy"), std::string::npos);
  EXPECT_EQ(names(*report), "recorded legacy mine");
  policy.name = "legacy";
  EXPECT_FALSE(e4replay::add_policy(policy).ok());
}

}  // namespace
}  // namespace e4replay_test
