// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/recording.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "library/capture.h"

namespace e4replay_test {
namespace {

using e4replay::Event;
using e4replay::EventReader;
using e4replay::Recording;

class LibraryRecording : public WithCapture {};

// Returns the number of events of each name.
std::map<std::string, std::uint64_t> count(EventReader events) {
  std::map<std::string, std::uint64_t> out;
  Event event;
  for (;;) {
    const auto more = events.next(event);
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !*more) return out;
    ++out[std::string(event.name)];
  }
}

TEST_F(LibraryRecording, HasImageEventsAndKernel) {
  const auto recording = Recording::open(capture());
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_EQ(recording->release(), "6.1.192");
  EXPECT_EQ(recording->image().file_system().block_size, 4096u);
  EXPECT_EQ(recording->image().free_extents()->blocks,
            e4replay::Image::open(image())->free_extents()->blocks);
  const auto counts = count(recording->events());
  std::uint64_t all = 0;
  for (const auto& [name, events] : counts) all += events;
  EXPECT_EQ(all, recording->event_count());
  EXPECT_GT(counts.at("ext4_request_blocks"), 1000u);
  const auto tunables = recording->tunables();
  EXPECT_NE(std::ranges::find(tunables, "mb_max_to_scan=200"), tunables.end());
}

// The file has a million equal lines. It is read only if the caller requests that.
TEST_F(LibraryRecording, OfAnyRatioIsReadWhenAskedFor) {
  const std::string path = file("bomb.trace.zst");
  const std::string line =
      "kworker/u8:1-77 [000] ..... 1.000000: ext4_free_inode: dev 8,1 ino 12 uid 0 gid 0 blocks 0 "
      "mode 0100644";
  ASSERT_EQ(
      e4r::test::run({"sh", "-c", "yes \"$1\" | head -n 1000000 | zstd -q >\"$0\"", path, line})
          .status,
      0);
  const auto all = [](e4replay::Result<EventReader> events) {
    std::string out;
    if (!events.ok()) return events.error().message;
    Event event;
    for (std::uint64_t count = 0;; ++count) {
      const auto more = events->next(event);
      if (!more.ok()) return more.error().message;
      if (!*more) return std::to_string(count);
    }
  };
  EXPECT_NE(all(EventReader::open(path)).find("which no recording does"), std::string::npos);
  EXPECT_EQ(all(EventReader::open_any_ratio(path)), "1000000");
  e4replay::RecordingOptions options;
  options.image = image();
  options.trace = path;
  const auto refused = Recording::open(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("which no recording does"), std::string::npos);
  const auto read = Recording::open_any_ratio(options);
  EXPECT_TRUE(read.ok() || read.error().message.find("ratio") == std::string::npos)
      << read.error().message;
}

TEST_F(LibraryRecording, OfImageAndTraceIsThatOfTheirCapture) {
  const auto whole = Recording::open(capture());
  e4replay::RecordingOptions options;
  options.image = image();
  options.trace = trace();
  const auto parts = Recording::open(options);
  ASSERT_TRUE(whole.ok() && parts.ok());
  EXPECT_EQ(whole->event_count(), parts->event_count());
  EXPECT_EQ(whole->tunables(), parts->tunables());
  EXPECT_EQ(count(whole->events()), count(parts->events()));
}

TEST_F(LibraryRecording, ShowsEventsAsTheKernelPrintedThem) {
  auto events = EventReader::open(trace());
  ASSERT_TRUE(events.ok()) << events.error().message;
  Event event;
  while (*events->next(event) && event.name != "ext4_mballoc_alloc") {
  }
  ASSERT_EQ(event.name, "ext4_mballoc_alloc");
  EXPECT_NE(event.ino, 0u);
  EXPECT_NE(event.time_ns, 0u);
  EXPECT_GT(event.orig.len, 0u);
  EXPECT_GE(event.goal_extent.len, event.orig.len);
  EXPECT_GT(event.result.len, 0u);
  EXPECT_EQ(criterion_name(event.criterion).substr(0, 2), "CR");
  EXPECT_FALSE(event.has_inputs);
}

TEST_F(LibraryRecording, LivesAsLongAsWhatIsMadeOfIt) {
  auto recording = std::make_unique<Recording>(*Recording::open(capture()));
  const e4replay::Image start = recording->image();
  std::vector<EventReader> readers;
  readers.push_back(recording->events());
  readers.push_back(recording->events());
  recording.reset();
  EXPECT_GT(start.free_extents()->count, 0u);
  EXPECT_FALSE(start.bitmap(0).empty());
  std::vector<std::map<std::string, std::uint64_t>> counts(readers.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < readers.size(); ++i)
      threads.emplace_back([&, i] { counts[i] = count(std::move(readers[i])); });
  }
  EXPECT_EQ(counts[0], counts[1]);
}

TEST_F(LibraryRecording, TellsWhatIsDoubtful) {
  e4replay::RecordingOptions options;
  options.image = file("cut.e4c");
  std::filesystem::copy_file(capture(), options.image);
  std::filesystem::resize_file(options.image, std::filesystem::file_size(options.image) - 20);
  std::vector<std::string> lines;
  const e4replay::Listener listener = {[&](std::string_view line) { lines.emplace_back(line); },
                                       nullptr};
  const auto recording = Recording::open(options, listener);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  ASSERT_FALSE(lines.empty());
}

TEST_F(LibraryRecording, OfOtherFilesIsAnError) {
  const auto error = [](const std::string& image, const std::string& trace) {
    e4replay::RecordingOptions options;
    options.image = image;
    options.trace = trace;
    const auto recording = Recording::open(options);
    return recording.ok() ? std::string() : recording.error().message;
  };
  EXPECT_NE(error(file("none"), "").find("No such file"), std::string::npos);
  EXPECT_NE(error(image(), "").find("is not a capture (.e4c)"), std::string::npos);
  EXPECT_NE(error(trace(), image()).find("give the start image before"), std::string::npos);
  std::ofstream(file("bad.e4c")) << "E4CAPTURE" << std::string(1000, '\0');
  EXPECT_NE(error(file("bad.e4c"), ""), "");
  std::string damaged;
  {
    std::ifstream in(capture(), std::ios::binary);
    damaged.assign(std::istreambuf_iterator<char>(in), {});
  }
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  std::ofstream(file("damaged.e4c"), std::ios::binary) << damaged;
  EXPECT_EQ(error(file("damaged.e4c"), "").rfind(file("damaged.e4c") + ": ", 0), 0u);
  e4replay::TraceOptions options;
  options.device = "here";
  const auto events = EventReader::open(trace(), options);
  ASSERT_FALSE(events.ok());
  EXPECT_NE(events.error().message.find("here"), std::string::npos);
  std::ofstream(file("text")) << "no event\n";
  EXPECT_FALSE(EventReader::open(file("text")).ok());
}

}  // namespace
}  // namespace e4replay_test
