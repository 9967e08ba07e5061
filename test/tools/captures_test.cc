// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that the commands print only true facts about a capture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "capture/capture.h"
#include "capture/image_parts.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r::test {
namespace {

using capture::CaptureWriter;
using capture::StartFacts;
using trace::Event;
using trace::EventKind;

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

class Captures : public testing::Test {
 protected:
  // Returns a capture as a recorder has written it right after its start, or nullptr if it cannot
  // be made.
  std::unique_ptr<CaptureWriter> begin(const StartFacts& start, bool buddies_loaded) {
    auto writer = CaptureWriter::create(path_);
    if (!writer.ok() || !(*writer)->start(start).ok()) return nullptr;
    if (buddies_loaded && !(*writer)->text(capture::text_name::kStartGroups, "#group: none\n").ok())
      return nullptr;
    Event event;
    event.kind = EventKind::request_blocks;
    event.dev = trace::make_dev(8, 1);
    event.ino = 12;
    if (!(*writer)->events({&event, 1}, trace::Generation::v6_1).ok()) return nullptr;
    return (*writer)->flush().ok() ? *std::move(writer) : nullptr;
  }
  static bool end(CaptureWriter& writer) {
    return writer.end_events(trace::TraceSummary()).ok() && writer.finish({}).ok();
  }
  static StartFacts mounted(const std::string& point, const std::string& options) {
    StartFacts start;
    start.kernel = "6.1.0";
    start.device = "8:1";
    start.device_name = "sda1";
    start.mounted = true;
    start.mount_point = point;
    start.mount_options = options;
    return start;
  }
  [[nodiscard]] std::string output_of(std::vector<std::string> words) const {
    words.insert(words.begin(), E4REPLAY);
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out + outcome.err;
  }

  TempDir dir_;
  const std::string path_ = dir_.file("run.e4c");
};

TEST_F(Captures, OneThatGrowsIsBeingRecordedAndOneWithoutItsRecorderIsCutShort) {
  auto writer = begin(mounted("/data", "rw"), true);
  ASSERT_NE(writer, nullptr);
  const std::string growing = output_of({"info", path_});
  EXPECT_TRUE(says(growing, "is still being recorded")) << growing;
  EXPECT_TRUE(says(growing, "end        not yet: it is still being recorded")) << growing;
  EXPECT_FALSE(says(growing, "truncated")) << growing;
  EXPECT_TRUE(says(output_of({"info", path_, "--json", "-"}), "\"being_recorded\":true"));
  EXPECT_TRUE(says(output_of({"trace", "info", path_}), "requests          1\n"));
  writer.reset();  // as if the recorder had been killed
  const std::string cut = output_of({"info", path_});
  EXPECT_TRUE(says(cut, "end        missing: the file is truncated")) << cut;
  EXPECT_FALSE(says(cut, "being recorded")) << cut;
  EXPECT_TRUE(says(output_of({"info", path_, "--json", "-"}), "\"being_recorded\":false"));
}

TEST_F(Captures, TraceInfoMissesNothingThatRecordWouldHaveRecorded) {
  for (const bool by_record : {false, true})
    for (const bool loaded : {false, true}) {
      StartFacts start = mounted("/data", "rw");
      if (by_record) start.events = "minimal";
      auto writer = begin(start, loaded);
      ASSERT_NE(writer, nullptr);
      ASSERT_TRUE(end(*writer));
      writer.reset();
      const std::string text = output_of({"trace", "info", path_});
      EXPECT_EQ(says(text, "no ext4_mb_buddy_bitmap_load"), !loaded) << text;
      EXPECT_EQ(says(text, "no ext4_allocate_blocks"), !by_record) << text;
      EXPECT_EQ(says(text, "jbd2_commit_flushing or jbd2_end_commit is missing"), !by_record)
          << text;
      EXPECT_EQ(says(text, "exact replay      nothing is missing"), by_record && loaded) << text;
      ASSERT_EQ(std::remove(path_.c_str()), 0);
    }
}

TEST_F(Captures, InfoSaysOfTheMountWhatIsKnown) {
  struct Case {
    StartFacts start;
    const char* line;
  };
  for (const Case& c :
       {Case{mounted("/data", "rw,relatime,rw"), "not rotational, on /data (rw,relatime)\n"},
        Case{mounted("/mnt", ""), "not rotational, on /mnt\n"},
        Case{mounted("", "rw"), "not rotational, mounted (rw)\n"},
        Case{mounted("", ""), "not rotational, mounted\n"}}) {
    auto writer = begin(c.start, true);
    ASSERT_NE(writer, nullptr);
    ASSERT_TRUE(end(*writer));
    writer.reset();
    const std::string text = output_of({"info", path_});
    EXPECT_TRUE(says(text, c.line)) << text;
    ASSERT_EQ(std::remove(path_.c_str()), 0);
  }
}

// In one trace all written files are removed, and in another no file is written.
TEST_F(Captures, WithoutFilesThereAreNoExtentsPerFile) {
  const std::string image = dir_.file("start.img"), trace = dir_.file("run.txt");
  make_image(image, 16u << 20, {"-t", "ext4", "-b", "1024"});
  std::ofstream(trace) << "# tracer: nop\n"
                          "  x-57 [000] ..... 1.0: ext4_free_inode: dev 98,0 ino 13 mode 0100644 "
                          "uid 0 gid 0 blocks 0\n"
                          "  x-57 [000] ..... 1.1: ext4_request_inode: dev 98,0 dir 2 mode "
                          "0100644\n";
  const std::string text = output_of({"replay", image, trace, "--force", "-p", "legacy,cr1.5"});
  const std::size_t at = text.find("  extents per file");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string row = text.substr(at, text.find('\n', at) - at);
  EXPECT_FALSE(says(row, "0.00")) << row;
  EXPECT_TRUE(says(row, "-")) << row;
}

}  // namespace
}  // namespace e4r::test
