// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/writer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/random_events.h"
#include "trace/support.h"
#include "trace/text/body.h"

namespace e4r::trace {
namespace {

using test::TemporaryDirectory;

Status write_all(const std::string& path, const std::vector<Event>& events) {
  E4R_TRY(const auto writer, TraceWriter::create(path));
  E4R_CHECK(writer->add(events, Generation::v6_5));
  TraceSummary summary;
  summary.generation = Generation::v6_5;
  return writer->finish(summary);
}

TEST(TraceWriter, EveryFormReadsBack) {
  const TemporaryDirectory dir;
  const auto events = test::random_events(3, 5000, true);
  for (const char* name : {"a.e4t", "a.e4t.zst", "a.txt", "a.txt.zst"}) {
    ASSERT_TRUE(write_all(dir / name, events).ok());
    const auto read = test::read_opened(open_trace(dir / name));
    EXPECT_EQ(read.error, "");
    EXPECT_TRUE(read.events == events) << name;
    EXPECT_EQ(read.summary.generation, Generation::v6_5);
  }
}

TEST(TraceWriter, TextSurvivesThePackedForm) {
  const TemporaryDirectory dir;
  const std::string text = test::file_bytes(TRACE_DATA "/ftrace-6.1.txt");
  const auto original = test::read_text(text);
  {
    auto source = open_trace_bytes(text, "t");
    auto writer = TraceWriter::create(dir / "a.e4t");
    ASSERT_TRUE(source.ok() && writer.ok());
    EXPECT_EQ(*copy_trace(**source, **writer), original.events.size());
  }
  auto packed = open_trace(dir / "a.e4t");
  auto writer = TraceWriter::create(dir / "a.txt");
  ASSERT_TRUE(packed.ok() && writer.ok());
  ASSERT_TRUE(copy_trace(**packed, **writer).ok());
  EXPECT_EQ(test::read_opened(open_trace(dir / "a.txt")).events, original.events);
}

// The text of each event must match the kernel's, except for values that Event does not store.
TEST(TraceWriter, PrintsTheKernelsBodies) {
  const std::string text = test::file_bytes(TRACE_DATA "/ftrace-6.1.txt");
  const auto read = test::read_text(text);
  std::size_t at = 0, compared = 0;
  for (const Event& e : read.events) {
    do at = text.find('\n', at) + 1;
    while (text[at] == '#');
    const std::string_view line(&text[at], text.find('\n', at) - at);
    if (e.kind == EventKind::end_commit || e.kind == EventKind::free_inode) continue;
    std::string printed;
    print_ftrace_event(printed, e, Generation::v6_1);
    printed.pop_back();
    const auto body = [](std::string_view l) { return l.substr(l.find("] ..... ")); };
    if (line.find("] ..... ") == std::string_view::npos) continue;
    EXPECT_EQ(body(printed), body(line));
    ++compared;
  }
  EXPECT_GT(compared, 50u);
}

TEST(TraceWriter, NothingHalfWrittenRemains) {
  const TemporaryDirectory dir;
  std::ofstream(dir / "a.e4t") << "before";
  {
    auto writer = TraceWriter::create(dir / "a.e4t");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->add(test::random_events(4, 1000, true), Generation::v6_5).ok());
  }
  EXPECT_EQ(test::file_bytes(dir / "a.e4t"), "before");
  EXPECT_EQ(dir.files(), 1u);
}

TEST(TraceWriter, ErrorsNameTheFile) {
  EXPECT_EQ(TraceWriter::create("x.dat").error().message,
            "x.dat: name the output .e4t or .txt, followed by .zst to compress it");
  EXPECT_EQ(TraceWriter::create("/nonexistent/x.e4t").error().message,
            "cannot write /nonexistent/x.e4t: No such file or directory");
}

}  // namespace
}  // namespace e4r::trace
