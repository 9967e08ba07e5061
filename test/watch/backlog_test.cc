// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/backlog.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace e4r::watch {
namespace {

using trace::Event;

std::vector<Event> some_events(std::uint64_t from, std::uint64_t count) {
  std::vector<Event> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    out[i].kind = trace::EventKind::free_inode;
    out[i].time_ns = from + i;
    out[i].ino = 11 + (from + i) % 7;
    out[i].dev = trace::make_dev(8, 1);
    out[i].pid = 5;
  }
  return out;
}

Status nothing_between(std::optional<std::uint64_t>) {
  return {};
}

// Reads events to the end, or until an Error.
std::vector<Event> read_all(trace::EventSource& source) {
  std::vector<Event> out;
  for (;;) {
    const auto batch = source.next();
    if (!batch.ok() || batch->empty()) return out;
    out.insert(out.end(), batch->begin(), batch->end());
  }
}

TEST(Backlog, PassesEventsOnInTheirOrder) {
  for (const std::uint64_t piece : {1u, 100u, 1023u, 1024u, 5000u}) {
    Backlog backlog;
    for (std::uint64_t at = 0; at < 10'000; at += piece)
      backlog.add(some_events(at, std::min<std::uint64_t>(piece, 10'000 - at)), at);
    backlog.end();
    EXPECT_EQ(read_all(*backlog.read(nothing_between)), some_events(0, 10'000)) << piece;
  }
}

TEST(Backlog, AnotherReaderBeginsWithTheFirstEvent) {
  Backlog backlog;
  backlog.add(some_events(0, 3000), 3000);
  const auto first = backlog.read(nothing_between);
  ASSERT_TRUE(first->next().ok());
  EXPECT_EQ(read_all(*backlog.read_present()), some_events(0, 3000));
  backlog.add(some_events(3000, 500), 3500);
  backlog.end();
  EXPECT_EQ(read_all(*backlog.read(nothing_between)), some_events(0, 3500));
}

// An unpacked event takes two hundred bytes, so the backlog must pack the events that wait.
TEST(Backlog, HoldsNoMoreThanWhatWaits) {
  Backlog backlog;
  backlog.forget();
  const auto reader = backlog.read(nothing_between);
  for (std::uint64_t at = 0; at < 400'000; at += 2000) {
    backlog.add(some_events(at, 2000), at);
    for (std::uint64_t read = 0; read < 2000;) read += reader->next()->size();
    EXPECT_LT(backlog.state().bytes, 300'000u);
  }
  EXPECT_EQ(backlog.state().read, 400'000u);
}

TEST(Backlog, PacksWhatWaits) {
  Backlog backlog;
  backlog.add(some_events(0, 102'400), 1);
  EXPECT_LT(backlog.state().bytes, 102'400u * 10);
  EXPECT_EQ(backlog.state().added, 102'400u);
}

TEST(Backlog, SaysUpToWhenTheReaderHasPassedOnAll) {
  Backlog backlog;
  std::optional<std::uint64_t> until;
  const auto reader = backlog.read([&](std::optional<std::uint64_t> ns) {
    until = ns;
    if (ns) backlog.end();
    return Status();
  });
  backlog.add(some_events(0, 10), 77);
  ASSERT_EQ(reader->next()->size(), 10u);
  EXPECT_FALSE(until) << "events were waiting";
  EXPECT_TRUE(reader->next()->empty());
  EXPECT_EQ(until, 77u);
}

TEST(Backlog, AReaderWaitsForAnotherThread) {
  Backlog backlog;
  backlog.forget();
  std::thread writer([&backlog] {
    for (std::uint64_t at = 0; at < 50'000; at += 50) backlog.add(some_events(at, 50), at);
    backlog.end();
  });
  EXPECT_EQ(read_all(*backlog.read(nothing_between)), some_events(0, 50'000));
  writer.join();
}

TEST(Backlog, EndsAReaderThatNeedsNoMore) {
  Backlog backlog;
  backlog.add(some_events(0, 10), 77);
  const auto reader = backlog.read(
      [](std::optional<std::uint64_t> ns) { return ns ? Status(error("enough")) : Status(); });
  ASSERT_EQ(reader->next()->size(), 10u);
  const auto batch = reader->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().message, "enough");
}

TEST(Backlog, CanBeStoppedWhileAReaderWaits) {
  Backlog backlog;
  const auto reader = backlog.read(nothing_between);
  std::thread stopper([&backlog] { backlog.stop(); });
  const auto batch = reader->next();
  stopper.join();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().message, "stopped");
}

}  // namespace
}  // namespace e4r::watch
