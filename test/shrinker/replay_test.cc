// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/replay.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/model.h"
#include "util/rng.h"

namespace e4r::shrinker {
namespace {

namespace es = trace::es;
using trace::Event;
using trace::EventKind;

using Source = test::MemorySource;

// Writes the trace of a kernel whose shrinker decides like the model.
class Recorder {
 public:
  explicit Recorder(const ReclaimModel& model) : model_(model) {
    if (model.by_use) cache_.order_by_use();
  }
  void insert(std::uint64_t ino, const Entry& entry) {
    add(EventKind::es_insert_extent, ino, entry);
    cache_.insert(ino, entry);
  }
  void remove(std::uint64_t ino, std::uint64_t logical, std::uint64_t len) {
    add(EventKind::es_remove_extent, ino, {logical, len, 0, 0});
    cache_.remove(ino, logical, len);
  }
  // Looks up an entry. If the cache does not have it, reads and caches it.
  void look_up(std::uint64_t ino, const Entry& there) {
    add(EventKind::es_lookup_enter, ino, {there.logical, 0, 0, 0});
    const StatusCache::Found found = cache_.look_up(ino, there.logical);
    add(EventKind::es_lookup_exit, ino, found.entry.value_or(Entry{})).found = found.entry ? 1 : 0;
    if (found.entry) return;
    add(EventKind::es_cache_extent, ino, there);
    cache_.cache(ino, there);
  }
  void shrink(std::uint32_t budget) {
    Event& enter = add(EventKind::es_shrink_scan_enter, 0, {});
    enter.needed = budget;
    enter.count = cache_.reclaimable();
    const ShrinkCall scan = model_.scan(cache_, budget);
    Event& report = add(EventKind::es_shrink, 0, {});
    report.found = static_cast<std::uint32_t>(scan.reclaimed);
    report.count = 7;  // microseconds
    Event& exit = add(EventKind::es_shrink_scan_exit, 0, {});
    exit.found = static_cast<std::uint32_t>(scan.reclaimed);
    exit.count = cache_.reclaimable();
  }
  [[nodiscard]] std::vector<Event>& events() { return events_; }

 private:
  Event& add(EventKind kind, std::uint64_t ino, const Entry& entry) {
    Event& e = events_.emplace_back();
    e.kind = kind;
    e.pid = 1;
    e.ino = ino;
    e.logical = entry.logical;
    e.count = entry.len;
    e.block = entry.block;
    e.flags = entry.flags;
    return e;
  }

  const ReclaimModel& model_;
  StatusCache cache_;
  std::vector<Event> events_;
};

void work(Recorder& recorder, std::uint64_t seed) {
  Rng rng(seed);
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t ino = 11 + rng.below(5);
    const std::uint64_t logical = rng.below(200);
    switch (rng.below(8)) {
      case 0:
      case 1:
        recorder.insert(ino, {logical, 1, 0, es::delayed});
        break;
      case 2:
        recorder.insert(ino, {logical, 1, 3 * logical, es::written});
        break;
      case 3:
        recorder.remove(ino, logical, 1 + rng.below(30));
        break;
      case 4:
        recorder.shrink(static_cast<std::uint32_t>(rng.below(20)));
        break;
      default:
        recorder.look_up(ino, {logical, 1, 3 * logical, es::written});
    }
  }
}

TEST(ShrinkerReplay, FollowsWhatItsOwnModelRecorded) {
  for (const ReclaimModel& model : models()) {
    Recorder recorder(model);
    work(recorder, 3);
    Source source(recorder.events());
    const Result<Replay> replay = follow(source, model);
    ASSERT_TRUE(replay.ok()) << replay.error().message;
    const CacheAgreement& a = replay->agreement;
    EXPECT_GT(a.lookups.all, 500u);
    EXPECT_GT(a.scans.all, 100u);
    EXPECT_EQ(a.lookups.same, a.lookups.all) << model.name << ": " << a.first;
    EXPECT_EQ(a.scans.same, a.scans.all) << model.name << ": " << a.first;
    EXPECT_EQ(a.reclaimable.same, 2 * a.scans.all) << model.name;
    EXPECT_TRUE(a.agrees());
    EXPECT_EQ(a.unseen, 0u);
    EXPECT_EQ(replay->contradictions, 0u);
    EXPECT_EQ(replay->recorded_us, 7 * a.scans.all);
    EXPECT_GT(replay->followed.lost_hits, 0u);
    // A what-if replay with the same model must give the same result.
    Source again(recorder.events());
    const Result<ReclaimOutcome> outcome = what_if(again, model);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->visited, replay->followed.visited);
    EXPECT_EQ(outcome->reclaimed, replay->followed.reclaimed);
    EXPECT_EQ(outcome->hits, replay->followed.hits);
    EXPECT_EQ(outcome->entries, replay->followed.entries);
  }
}

TEST(ShrinkerReplay, AWrongModelIsSeen) {
  Recorder recorder(*find_model("evictable"));
  work(recorder, 4);
  Source source(recorder.events());
  const Result<Replay> replay = follow(source, *find_model("round-robin"));
  ASSERT_TRUE(replay.ok());
  EXPECT_LT(replay->agreement.scans.same, replay->agreement.scans.all);
  EXPECT_FALSE(replay->agreement.agrees());
  EXPECT_FALSE(replay->agreement.first.empty());
}

TEST(ShrinkerReplay, VisitsAreComparedWhereTheTraceHasThem) {
  for (const std::uint32_t visited : {3U, 4U}) {
    Recorder recorder(models().front());
    for (std::uint64_t i = 0; i < 2; ++i)
      recorder.insert(11, {2 * i, 1, 0, es::hole | es::delayed});
    recorder.insert(11, {9, 1, 50, es::written});
    recorder.shrink(10);
    Event& report = recorder.events()[recorder.events().size() - 2];
    ASSERT_EQ(report.kind, EventKind::es_shrink);
    report.has_inputs = true;
    report.groups = visited;
    Source source(recorder.events());
    const Result<Replay> replay = follow(source, models().front());
    ASSERT_TRUE(replay.ok());
    EXPECT_EQ(replay->agreement.agrees(), visited == 3);
  }
}

TEST(ShrinkerReplay, OneDifferenceIsPutRight) {
  Recorder recorder(models().front());
  recorder.insert(11, {0, 8, 100, es::written});
  for (int i = 0; i < 5; ++i) recorder.look_up(11, {0, 8, 100, es::written});
  recorder.events()[2].block =
      900;  // the first answer names another place; all later answers name it, too
  for (std::size_t i = 4; i < recorder.events().size(); i += 2) recorder.events()[i].block = 900;
  Source source(recorder.events());
  const Result<Replay> replay = follow(source, models().front());
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->agreement.lookups.all, 5u);
  EXPECT_EQ(replay->agreement.lookups.same, 4u);
}

TEST(ShrinkerReplay, WhatWasThereBeforeTheTraceIsLearned) {
  Recorder recorder(models().front());
  recorder.insert(11, {0, 8, 100, es::written});
  recorder.look_up(11, {2, 1, 102, es::written});
  recorder.look_up(11, {3, 1, 103, es::written});
  recorder.events().erase(recorder.events().begin());
  Source source(recorder.events());
  const Result<Replay> replay = follow(source, models().front());
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->agreement.unseen, 1u);
  EXPECT_EQ(replay->agreement.lookups.all, 1u);
  EXPECT_EQ(replay->agreement.lookups.same, 1u);
}

TEST(ShrinkerReplay, ALookupThatLostItsEntryPutsItBack) {
  Recorder recorder(*find_model("round-robin"));
  for (std::uint64_t i = 0; i < 10; ++i) recorder.insert(11, {2 * i, 1, 0, es::delayed});
  recorder.insert(11, {100, 1, 50, es::written});
  recorder.shrink(5);  // round-robin visits only delayed entries
  recorder.look_up(11, {100, 1, 50, es::written});
  recorder.look_up(11, {100, 1, 50, es::written});
  Source source(recorder.events());
  const Result<ReclaimOutcome> outcome = what_if(source, *find_model("evictable"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->reclaimed, 1u);
  EXPECT_EQ(outcome->lookups, 2u);
  EXPECT_EQ(outcome->hits, 1u);
  EXPECT_EQ(outcome->lost_hits, 1u);
  EXPECT_EQ(outcome->entries, 11u);
}

TEST(ShrinkerReplay, WhatCannotBeIsCountedAndLeftOut) {
  Recorder recorder(models().front());
  recorder.insert(11, {0, 8, 100, es::written});
  recorder.look_up(11, {2, 1, 102, es::written});
  const std::vector<Event> good = recorder.events();
  struct Case {
    std::size_t event;
    void (*damage)(Event&);
  };
  const Case cases[] = {
      {0, [](Event& e) { e.count = UINT64_MAX; }},
      {0, [](Event& e) { e.logical = kLastBlock + 1; }},
      {1, [](Event& e) { e.ino = 12; }},     // for another inode
      {2, [](Event& e) { e.pid = 9; }},      // without a lookup
      {2, [](Event& e) { e.logical = 3; }},  // does not contain the block
      {2, [](Event& e) { e.count = kLastBlock + 5; }},
      {1, [](Event& e) { e.logical = UINT64_MAX; }},
  };
  for (const Case& c : cases) {
    std::vector<Event> events = good;
    c.damage(events[c.event]);
    recorder.shrink(1);
    events.push_back(recorder.events()[recorder.events().size() - 3]);
    Source source(events);
    const Result<Replay> replay = follow(source, models().front());
    ASSERT_TRUE(replay.ok());
    EXPECT_EQ(replay->contradictions, 1u) << &c - cases;
  }
}

TEST(ShrinkerReplay, ATraceWithoutLookupsAndCallsIsRefused) {
  Recorder recorder(models().front());
  recorder.insert(11, {0, 8, 100, es::written});
  Source source(recorder.events());
  EXPECT_FALSE(follow(source, models().front()).ok());
  Source again(recorder.events());
  EXPECT_FALSE(what_if(again, models().front()).ok());
}

// Random events must not crash the replay (tested under sanitizers), and the counts must be
// consistent.
TEST(ShrinkerReplay, DrawnEventsDoNoHarm) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    std::vector<Event> events(500);
    for (Event& e : events) {
      e.kind = static_cast<EventKind>(static_cast<std::uint64_t>(EventKind::es_insert_extent) +
                                      rng.below(9));
      e.pid = static_cast<std::uint32_t>(rng.below(2));
      e.ino = rng.below(3);
      e.logical = rng.chance(1, 8) ? kLastBlock - rng.below(3) : rng.below(50);
      e.count = rng.chance(1, 8) ? rng.next() : rng.below(20);
      e.block = rng.below(100);
      e.flags = static_cast<std::uint32_t>(rng.below(64));
      e.found = static_cast<std::uint32_t>(rng.below(3));
      e.needed = static_cast<std::uint32_t>(rng.chance(1, 8) ? rng.next() : rng.below(9));
    }
    for (const ReclaimModel& model : models()) {
      Source source(events);
      const Result<Replay> replay = follow(source, model);
      if (!replay.ok()) continue;
      const ReclaimOutcome& o = replay->followed;
      EXPECT_LE(o.reclaimed, o.visited);
      EXPECT_LE(o.hits + o.lost_hits, o.lookups);
      EXPECT_LE(o.entries, o.most_entries);
      Source again(events);
      EXPECT_TRUE(what_if(again, model).ok());
    }
  }
}

}  // namespace
}  // namespace e4r::shrinker
