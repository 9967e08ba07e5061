// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "trace/e4t/file.h"
#include "trace/random_events.h"
#include "trace/support.h"
#include "trace/text/body.h"

namespace e4r::trace {
namespace {

std::string text_of(const std::vector<Event>& events) {
  std::string out;
  for (const Event& e : events) print_ftrace_event(out, e, Generation::v6_5);
  return out;
}

Event request(std::uint32_t dev) {
  Event e;
  e.kind = EventKind::request_blocks;
  e.dev = dev;
  e.count = 1;
  return e;
}
Event commit(std::uint32_t dev) {
  Event e;
  e.kind = EventKind::end_commit;
  e.dev = dev;
  return e;
}

const std::uint32_t kQuiet = make_dev(8, 1), kBusy = make_dev(259, 3);

std::string two_devices() {
  return text_of({request(kQuiet), commit(kQuiet), commit(kQuiet), request(kBusy)}) +
         "CPU:1 [LOST 2 EVENTS]\n" + text_of({request(kBusy)});
}

TEST(PackedTrace, GivesBackEveryEvent) {
  const auto events = test::random_events(1, 30'000, true);
  std::vector<Event> of_one = events;
  for (Event& e : of_one) e.dev = kQuiet;
  const auto packed = load_packed_bytes(text_of(of_one), "t");
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_TRUE(test::read_all(*packed->cursor()).events == of_one);
  EXPECT_EQ(packed->events(), of_one.size());
  EXPECT_EQ(packed->device(), kQuiet);
}

TEST(PackedTrace, CursorsAreIndependentAndOutliveIt) {
  const auto events = test::random_events(2, 20'000, false);
  std::vector<std::unique_ptr<EventSource>> cursors;
  {
    const auto packed = load_packed_bytes(text_of({events.size(), request(kQuiet)}), "t");
    ASSERT_TRUE(packed.ok());
    for (int i = 0; i < 4; ++i) cursors.push_back(packed->cursor());
  }
  std::vector<std::size_t> counts(cursors.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cursors.size(); ++i)
    threads.emplace_back([&, i] { counts[i] = test::read_all(*cursors[i]).events.size(); });
  for (std::thread& t : threads) t.join();
  for (const std::size_t count : counts) EXPECT_EQ(count, events.size());
}

// A sink that records what it has received since the last restart().
struct Seen final : EventSink {
  void see(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void restart() override { events.clear(); }
  std::vector<Event> events;
};

std::string e4t_of(const std::vector<Event>& events) {
  std::string out;
  e4t::Writer writer(out);
  TraceSummary summary;
  writer.begin();
  for (const Event& e : events) {
    summary.add(e, nullptr);
    writer.add({&e, 1}, Generation::v6_5);
  }
  writer.finish(summary);
  return out;
}

// Blocks of a packed file are copied into memory unchanged. But if a device is selected, or if
// damaged parts may be left out, they are copied event by event.
TEST(PackedTrace, APackedFileGivesBackEveryEvent) {
  std::vector<Event> events = test::random_events(3, 30'000, true);
  for (Event& e : events) e.dev = kQuiet;
  const std::string file = e4t_of(events);
  ReadOptions lenient, of_device;
  lenient.lenient = true;
  of_device.device = kQuiet;
  for (const ReadOptions& options : {ReadOptions{}, lenient, of_device}) {
    const auto trace = open_trace_bytes(file, "t", options);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    Seen seen;
    const auto packed = pack(**trace, options, &seen);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_TRUE(test::read_all(*packed->cursor()).events == events);
    EXPECT_TRUE(seen.events == events);
    EXPECT_EQ(packed->events(), events.size());
  }
}

TEST(PackedTrace, ADamagedBlockOfAPackedFileIsAnErrorOrLeftOut) {
  std::vector<Event> events = test::random_events(4, 30'000, true);
  for (Event& e : events) e.dev = kQuiet;
  std::string file = e4t_of(events);
  file[file.size() / 2] ^= 0x10;
  EXPECT_FALSE(load_packed_bytes(file, "t").ok());
  ReadOptions lenient;
  lenient.lenient = true;
  const auto packed = load_packed_bytes(file, "t", lenient);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const auto left = test::read_all(*packed->cursor()).events;
  EXPECT_EQ(left.size(), packed->events());
  EXPECT_LT(left.size(), events.size());
  EXPECT_GT(left.size(), 0u);
}

TEST(PackedTrace, ASinkSeesTheEventsOfTheChosenDevice) {
  for (const std::string& text :
       {two_devices(), e4t_of({request(kQuiet), commit(kBusy), request(kBusy), request(kBusy)})}) {
    const auto trace = open_trace_bytes(text, "t");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    Seen seen;
    const auto packed = pack(**trace, {}, &seen);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_EQ(packed->device(), kBusy);
    EXPECT_EQ(seen.events.size(), 3u);
    EXPECT_TRUE(seen.events == test::read_all(*packed->cursor()).events);
  }
}

TEST(PackedTrace, TakesTheBusiestDeviceAndSaysSo) {
  const auto packed = load_packed_bytes(two_devices(), "t");
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->device(), kBusy);
  EXPECT_EQ(packed->events(), 3u);  // two requests and the marker
  EXPECT_EQ(packed->summary().count(EventKind::end_commit), 0u);
  EXPECT_EQ(packed->summary().lost_events, 2u);
  EXPECT_EQ(packed->summary().devices.size(), 2u);
  EXPECT_EQ(packed->notes().back(),
            "the trace has events of devices 8,1 259,3: taking 259,3, the busiest; choose another "
            "with --device");
}

TEST(PackedTrace, TakesTheDeviceThatIsAskedFor) {
  ReadOptions options;
  options.device = kQuiet;
  const auto packed = load_packed_bytes(two_devices(), "t", options);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->device(), kQuiet);
  EXPECT_EQ(packed->events(), 4u);
  options.device = make_dev(1, 1);
  EXPECT_EQ(load_packed_bytes(two_devices(), "t", options).error().message,
            "t: holds no events of device 1,1, only of 8,1 259,3");
}

TEST(PackedTrace, AnEmptyTraceIsAnError) {
  EXPECT_EQ(load_packed_bytes("# tracer: nop\n", "t").error().message,
            "t: holds no ext4 allocation events");
  EXPECT_EQ(load_packed_bytes("CPU:1 [LOST 2 EVENTS]\n", "t").error().message,
            "t: holds no ext4 allocation events");
}

TEST(PackedTrace, PutsMisreadCriteriaRight) {
  std::string text;
  for (const char* cr : {"2", "3", "4", "2"})
    text += std::string(
                "           churn-57      [000] .....     0.910000: ext4_mballoc_alloc: dev "
                "98,0 inode 13 orig 1/0/4@7 goal 1/0/4@7 result 1/960/4@7 blks 8 grps 2 cr ") +
            cr + " flags  tail 0 broken 0\n";
  const auto packed = load_packed_bytes(text, "t");
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  std::vector<mb::Criterion> seen;
  for (const Event& e : test::read_all(*packed->cursor()).events) seen.push_back(e.criterion);
  using enum mb::Criterion;
  EXPECT_EQ(seen, (std::vector{best_avail, cr2, cr3, best_avail}));
  EXPECT_EQ(packed->summary().generation, Generation::v6_5);
}

}  // namespace
}  // namespace e4r::trace
