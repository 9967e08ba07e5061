// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/capture.h"

#include <gtest/gtest.h>

#include <fstream>

#include "capture/container.h"
#include "support/temp_dir.h"

namespace e4r::capture {
namespace {

using trace::Event;
using trace::EventKind;

std::vector<Event> some_events(std::size_t count) {
  std::vector<Event> out;
  for (std::size_t i = 0; i < count; ++i) {
    Event e;
    e.kind = i % 2 == 0 ? EventKind::request_blocks : EventKind::free_inode;
    e.dev = trace::make_dev(8, 1);
    e.time_ns = i * 1000;
    e.ino = 12 + i % 40;
    out.push_back(e);
  }
  return out;
}

// Writes a capture without an image. With `killed`, all events are flushed, but the end of the file
// is not written.
std::string write(const test::TempDir& dir, const std::vector<Event>& events, bool killed) {
  std::string path = dir.file(killed ? "killed.e4c" : "whole.e4c");
  auto writer = CaptureWriter::create(path);
  EXPECT_TRUE(writer.ok());
  StartFacts start;
  start.kernel = "6.1";
  start.snapshot = "none";
  EXPECT_TRUE((*writer)->start(start).ok());
  EXPECT_TRUE((*writer)->text("start/mb_groups", std::string(3 << 20, 'g')).ok());
  EXPECT_TRUE((*writer)->text("empty", "").ok());
  trace::TraceSummary summary;
  for (const Event& e : events) summary.add(e, nullptr);
  EXPECT_TRUE((*writer)->events(events, trace::Generation::v6_1).ok());
  if (killed) {
    EXPECT_TRUE((*writer)->flush().ok());
    return path;
  }
  EXPECT_TRUE((*writer)->end_events(summary).ok());
  EndFacts end;
  end.lost = {{0, 5}};
  EXPECT_TRUE((*writer)->finish(end).ok());
  return path;
}

std::size_t count(const Capture& capture) {
  const auto trace = capture.load_trace();
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace->events() : 0;
}

TEST(Capture, GivesBackWhatWasWritten) {
  const test::TempDir dir;
  const std::string path = write(dir, some_events(10000), false);
  EXPECT_TRUE(is_capture(path));
  const auto capture = Capture::open(path);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_EQ(capture->start().kernel, "6.1");
  ASSERT_NE(capture->end(), nullptr);
  EXPECT_EQ(*capture->text("start/mb_groups"), std::string(3 << 20, 'g'));
  EXPECT_EQ(*capture->text("empty"), "");
  EXPECT_EQ(capture->text("start/mb_stats"), nullptr);
  EXPECT_TRUE(capture->image().empty());
  EXPECT_EQ(count(*capture), 10000u);
  ASSERT_EQ(capture->notes().size(), 1u);
  EXPECT_NE(capture->notes().front().find("5 events were lost"), std::string::npos);
}

// A capture repeats a few events very often. Unpacked, it is larger, relative to its size, than any
// real recording.
TEST(Capture, ThatUnpacksToFarMoreThanARecordingIsRefused) {
  const test::TempDir dir;
  std::vector<Event> few = some_events(1000);
  // The values are far apart, so that each event takes many bytes before it is packed.
  for (std::size_t i = 0; i < few.size(); ++i) {
    few[i].ino = i % 2 == 0 ? 1 : UINT64_MAX / 3;
    few[i].time_ns = i % 2 == 0 ? 1 : UINT64_MAX / 5;
  }
  constexpr std::size_t kTimes = 8000;
  const std::string path = dir.file("bomb.e4c");
  auto writer = CaptureWriter::create(path);
  ASSERT_TRUE(writer.ok() && (*writer)->start({}).ok());
  trace::TraceSummary summary;
  for (std::size_t i = 0; i < kTimes; ++i) {
    ASSERT_TRUE((*writer)->events(few, trace::Generation::v6_1).ok());
    for (const Event& e : few) summary.add(e, nullptr);
  }
  ASSERT_TRUE((*writer)->end_events(summary).ok() && (*writer)->finish({}).ok());
  const auto capture = Capture::open(path);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  trace::ReadOptions options;
  const auto refused = capture->load_trace(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("times their size, which no recording does: --any-ratio"),
            std::string::npos)
      << refused.error().message;
  options.any_ratio = true;
  const auto all = capture->open_trace(options);
  ASSERT_TRUE(all.ok()) << all.error().message;
  std::size_t count = 0;
  for (;;) {
    const auto batch = (*all)->next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    if (batch->empty()) break;
    count += batch->size();
  }
  EXPECT_EQ(count, kTimes * few.size());
}

TEST(Capture, OfAKilledRecorderHasWhatWasFlushed) {
  const test::TempDir dir;
  const auto capture = Capture::open(write(dir, some_events(1000), true));
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_TRUE(capture->cut_short());
  EXPECT_EQ(capture->end(), nullptr);
  EXPECT_EQ(count(*capture), 1000u);
}

TEST(Capture, IsNotWrittenOverAFile) {
  const test::TempDir dir;
  const std::string path = write(dir, some_events(1), false);
  const auto again = CaptureWriter::create(path);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("exists already"), std::string::npos);
}

// If a file is damaged at any place, it is refused, or reading its events gives an Error. If it is
// truncated at any place, the events before that place can be read.
TEST(Capture, DamageNeverGoesUnnoticed) {
  const test::TempDir dir;
  std::ifstream in(write(dir, some_events(2000), false), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::string path = dir.file("bad.e4c");
  for (std::size_t at = 12; at < bytes.size(); at += 97) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    std::ofstream(path, std::ios::binary) << bad;
    const auto capture = Capture::open(path);
    EXPECT_TRUE(!capture.ok() || capture->cut_short()) << at;
    std::ofstream(path, std::ios::binary) << bytes.substr(0, at);
    const auto cut = Capture::open(path);
    if (cut.ok()) {
      EXPECT_TRUE(cut->cut_short());
      const auto trace = cut->load_trace();
      EXPECT_TRUE(trace.ok() || trace.error().message.find("no ext4") != std::string::npos);
    }
  }
}

TEST(Capture, SaysWhatIsNone) {
  const test::TempDir dir;
  std::ofstream(dir.file("x")) << "no capture at all";
  EXPECT_FALSE(is_capture(dir.file("x")));
  EXPECT_FALSE(is_capture(dir.file("missing")));
  EXPECT_FALSE(Capture::open(dir.file("x")).ok());
  EXPECT_FALSE(Capture::open(dir.file("missing")).ok());
}

}  // namespace
}  // namespace e4r::capture
