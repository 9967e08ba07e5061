// SPDX-License-Identifier: GPL-2.0-or-later
// Tests recordings of trace-cmd. Real recordings are compared with the output of `trace-cmd report
// -t`. Synthetic recordings test input that is rare, damaged or from other machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "trace/bytes.h"
#include "trace/dat_builder.h"
#include "trace/summary.h"
#include "trace/support.h"
#include "util/rng.h"

namespace e4r::trace {
namespace {

using dat::Packing;
using test::DatBuilder;
using test::PageBuilder;
using test::ReadTrace;
using test::TemporaryDirectory;

std::string data(const std::string& name) {
  return std::string(TRACE_DATA "/") + name;
}
ReadTrace read_file(const std::string& path, const ReadOptions& options = {}) {
  return test::read_opened(open_trace(path, options));
}

// ---- real recordings

struct RecordingSample {
  const char* file;
  Generation generation;
  std::size_t events;  // known events and markers
  std::uint64_t lost;
  const char* kernel;
};

class Recordings : public testing::TestWithParam<RecordingSample> {};

TEST_P(Recordings, AreReadAsReportPrintsThem) {
  const RecordingSample& sample = GetParam();
  const std::string stem =
      std::string(sample.file).substr(0, std::string(sample.file).find(".dat"));
  const ReadTrace read = read_file(data(sample.file)), text = read_file(data(stem + ".txt.zst"));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(text.error, "");
  EXPECT_EQ(read.events, text.events);
  const TraceSummary &a = read.summary, &b = text.summary;
  EXPECT_EQ(a.format, Format::trace_dat);
  EXPECT_EQ(a.recorded_as, Format::trace_dat);
  EXPECT_EQ(a.generation, sample.generation);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.generation_guessed, b.generation_guessed);
  EXPECT_EQ(a.events, sample.events);
  EXPECT_EQ(a.lost_events, sample.lost);
  EXPECT_EQ(a.lost_uncounted, b.lost_uncounted);
  EXPECT_EQ(a.overwritten, 0u);  // lost_events already counts them
  EXPECT_EQ(a.by_kind, b.by_kind);
  EXPECT_EQ(a.devices, b.devices);
  EXPECT_EQ(a.cpus, b.cpus);
  EXPECT_EQ(a.unknown_events, b.unknown_events);
  EXPECT_EQ(a.unknown_fields, b.unknown_fields);
  EXPECT_EQ(a.unknown_flags + a.unknown_criteria + a.skipped_lines, 0u);
  EXPECT_EQ(a.requests_with_inputs, b.requests_with_inputs);
  EXPECT_EQ(a.warnings, std::vector<std::string>());
  EXPECT_TRUE(a.kernel.starts_with(sample.kernel)) << a.kernel;
  EXPECT_EQ(a.clock, "mono");
}

INSTANTIATE_TEST_SUITE_P(
    All, Recordings,
    testing::Values(
        RecordingSample{"dat-6-two-cpus.dat.zst", Generation::unknown, 66, 0, "6.1.192"},
        RecordingSample{"dat-7-two-cpus.dat", Generation::v6_1, 63, 0, "6.1.192"},
        RecordingSample{"dat-7-plain.dat.zst", Generation::v6_1, 79, 0, "6.1.192"},
        RecordingSample{"dat-7-date.dat", Generation::unknown, 64, 0, "6.1.192"},
        RecordingSample{"dat-7-instance.dat", Generation::unknown, 68, 0, "6.1.192"},
        RecordingSample{"dat-7-overrun.dat.zst", Generation::unknown, 77, 1142, "6.1.192"},
        RecordingSample{"dat-7-series.dat", Generation::cr1_5, 95, 0, "6.1.192-all"},
        RecordingSample{"dat-7-linux-7.3.dat", Generation::v6_5, 79, 0, "7.3.4"}),
    [](const testing::TestParamInfo<RecordingSample>& sample) {
      std::string name = sample.param.file;
      std::ranges::replace_if(
          name, [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST(Recording, OneBufferOfSeveral) {
  ReadOptions top, side, none;
  top.buffer = "";
  side.buffer = "side";
  none.buffer = "other";
  const std::string file = data("dat-7-instance.dat");
  const ReadTrace all = read_file(file), a = read_file(file, top), b = read_file(file, side);
  EXPECT_EQ(a.events.size() + b.events.size(), all.events.size());
  EXPECT_EQ(b.events.size(), all.summary.count(EventKind::commit_flushing) +
                                 all.summary.count(EventKind::end_commit));
  EXPECT_EQ(read_file(file, none).error, file + ": has no buffer 'other', only '', 'side'");
  EXPECT_EQ(read_file(data("ftrace.txt"), side).error,
            data("ftrace.txt") + ": is not a trace-cmd recording, so it has no buffer to choose");
}

// ---- synthetic recordings

constexpr int kLoad = 301, kOther = 302, kAlloc = 303;

std::string field(const std::string& name, int offset, int size) {
  return "\tfield:u64 " + name + ";\toffset:" + std::to_string(offset) +
         ";\tsize:" + std::to_string(size) + ";\tsigned:0;\n";
}
std::string format(const std::string& name, int id, const std::string& fields,
                   const std::string& print = "\"\"") {
  return "name: " + name + "\nID: " + std::to_string(id) + "\nformat:\n" +
         field("common_type", 0, 2) + field("common_pid", 4, 4) + "\n" + fields +
         "\nprint fmt: " + print + "\n";
}
std::string search_format() {
  std::string fields = field("dev", 8, 4) + field("ino", 12, 4);
  int at = 16;
  for (const char* extent : {"orig", "goal", "result"})
    for (const char* part : {"group", "start", "len", "logical"})
      fields += field(std::string(extent) + "_" + part, at, 2), at += 2;
  for (const char* name : {"found", "groups", "buddy", "flags", "tail", "cr"})
    fields += field(name, at, 2), at += 2;
  return format("ext4_mballoc_alloc", kAlloc, fields);
}

DatBuilder builder() {
  DatBuilder b;
  b.formats = {
      {"ext4", format("ext4_mb_bitmap_load", kLoad, field("dev", 8, 4) + field("group", 12, 4))},
      {"ext4", search_format()},
      {"sched", format("sched_switch", kOther, "")}};
  return b;
}
std::string load(const DatBuilder& b, unsigned group) {
  return b.bytes()
      .number(kLoad, 2)
      .number(0, 2)
      .number(7, 4)
      .number(8 << 20, 4)
      .number(group, 4)
      .out;
}
std::string search(const DatBuilder& b, unsigned criterion) {
  auto bytes = b.bytes().number(kAlloc, 2).number(0, 2).number(7, 4).number(8 << 20, 4);
  for (int i = 0; i < 19; ++i) bytes.number(0, 2);
  return bytes.number(criterion, 2).out;
}
PageBuilder page(const DatBuilder& b, std::uint64_t time) {
  return {b.big_endian, time, b.commit_size};
}

// Returns a recording of two CPUs with alternating records. The second CPU has two pages.
std::string alternating(DatBuilder b) {
  const std::string other = b.bytes().number(kOther, 2).number(0, 2).number(7, 4).out;
  b.buffers = {
      {"",
       {page(b, 1000).record(0, load(b, 0)).record(20, load(b, 2)).record(1, other).build(),
        page(b, 1010).record(0, load(b, 1)).build() + page(b, 1030).record(0, load(b, 3)).build() +
            page(b, 5).build()}}};
  return b.build();
}

void expect_alternating(const ReadTrace& read) {
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(read.events[i].kind, EventKind::bitmap_load);
    EXPECT_EQ(read.events[i].group, i);
    EXPECT_EQ(read.events[i].cpu, i % 2);
    EXPECT_EQ(read.events[i].time_ns, 1000 + 10 * i);
    EXPECT_EQ(read.events[i].pid, 7u);
    EXPECT_EQ(read.events[i].dev, make_dev(8, 0));
  }
  ASSERT_EQ(read.summary.unknown_events.size(), 1u);
  EXPECT_EQ(read.summary.unknown_events[0].name, "sched_switch");
}

TEST(MadeRecording, OfEveryKindIsReadInTheOrderOfTime) {
  for (const int version : {6, 7})
    for (const bool big_endian : {false, true})
      for (const int commit_size : {4, 8})
        for (const Packing packing : {Packing::none, Packing::zlib, Packing::zstd}) {
          if (version == 6 && packing != Packing::none) continue;
          SCOPED_TRACE(testing::Message()
                       << version << big_endian << commit_size << static_cast<int>(packing));
          DatBuilder b = builder();
          b.version = version;
          b.big_endian = big_endian;
          b.commit_size = commit_size;
          b.packing = packing;
          expect_alternating(test::read_text(alternating(b)));
        }
}

TEST(MadeRecording, MayBeCompressedAsAWhole) {
  const std::string whole = test::packed(Packing::zstd, alternating(builder()));
  expect_alternating(test::read_text(whole));
  const TemporaryDirectory directory;
  std::ofstream(directory / "a.dat.zst", std::ios::binary) << whole;
  expect_alternating(read_file(directory / "a.dat.zst"));
}

TEST(MadeRecording, HasTimesThatDoNotFitARecord) {
  DatBuilder b = builder();
  const std::uint64_t long_ago = 1'000'000'000'000, later = (std::uint64_t{1} << 40) + 123;
  b.buffers = {{"",
                {page(b, long_ago)
                     .record(5, load(b, 0), true)
                     .extend(later)
                     .record(0, load(b, 1))
                     .padding(3, 40)
                     .record(1, load(b, 2))
                     .stamp(77'000)
                     .record(1, load(b, 3))
                     .word(29, 0)
                     .build()}}};
  const ReadTrace read = test::read_text(b.build());
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 4u);
  EXPECT_EQ(read.events[0].time_ns, long_ago + 5);
  EXPECT_EQ(read.events[1].time_ns, long_ago + 5 + later);
  EXPECT_EQ(read.events[2].time_ns, long_ago + 5 + later + 4);
  EXPECT_EQ(read.events[3].time_ns, 77'001u);
}

TEST(MadeRecording, SaysWhatWasLost) {
  DatBuilder b = builder();
  constexpr std::uint64_t kLost = 1U << 31, kCounted = 1U << 30;
  b.buffers = {{"",
                {page(b, 1000).record(0, load(b, 0)).build() +
                 page(b, 2000).record(0, load(b, 1)).build(kLost | kCounted, 42) +
                 page(b, 3000).record(0, load(b, 2)).build(kLost)}}};
  b.options = {{2, "CPU: 0\nentries: 0\noverrun: 50\ncommit overrun: 0\ndropped events: 3\n"}};
  const ReadTrace read = test::read_text(b.build());
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 5u);
  EXPECT_EQ(read.events[1].kind, EventKind::lost_events);
  EXPECT_EQ(read.events[1].count, 42u);
  EXPECT_EQ(read.events[1].time_ns, 1000u);
  EXPECT_EQ(read.events[3].kind, EventKind::lost_events);
  EXPECT_EQ(read.events[3].count, 0u);
  EXPECT_EQ(read.summary.lost_events, 42u);
  EXPECT_EQ(read.summary.lost_uncounted, 1u);
  EXPECT_EQ(read.summary.overwritten, 11u);  // the kernel counted 53, and markers report 42 of them
}

TEST(MadeRecording, HasTimesByItsRules) {
  DatBuilder b = builder();
  b.buffers = {{"", {page(b, 5000).record(0, load(b, 0)).build()}}};
  b.options = {{1, "0x10"}, {7, std::string("-1000\0", 6)}};
  EXPECT_EQ(test::read_text(b.build()).events.at(0).time_ns, 5000u + 16'000 - 1000);
  b.options = {{14, b.bytes().number(3, 4).number(1, 4).number(1000, 8).out}};
  EXPECT_EQ(test::read_text(b.build()).events.at(0).time_ns, 6000u);
  b.options = {{7, "0x7fffffffffffffff"}, {7, "1"}};
  EXPECT_EQ(test::read_text(b.build()).error, "t: its DATE or OFFSET makes no sense");
}

// The kernel release in a recording determines the meaning of criterion numbers. Without it, the
// first criterion 4 would show the meaning, but too late for the events before it.
TEST(MadeRecording, KnowsTheKernelByItsName) {
  DatBuilder b = builder();
  b.buffers = {{"", {page(b, 1).record(0, search(b, 2)).record(1, search(b, 4)).build()}}};
  EXPECT_NE(test::read_text(b.build()).error.find("give --generation 6.5"), std::string::npos);
  b.options = {{5, "Linux host 6.5.0-14-generic x86_64"}};
  const ReadTrace read = test::read_text(b.build());
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.summary.kernel, "6.5.0-14-generic");
  EXPECT_EQ(read.summary.generation, Generation::v6_5);
  EXPECT_EQ(read.events.at(0).criterion, mb::Criterion::best_avail);
}

TEST(MadeRecording, WarnsOfEventsThatTwoBuffersHave) {
  DatBuilder b = builder();
  const std::string pages = page(b, 1).record(0, load(b, 0)).build();
  b.buffers = {{"", {pages}}, {"a", {pages}}};
  for (const int version : {6, 7}) {
    b.version = version;
    const ReadTrace read = test::read_text(b.build());
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.events.size(), 2u);
    ASSERT_EQ(read.summary.warnings.size(), 1u);
    EXPECT_EQ(read.summary.warnings[0],
              "t: buffers '' and 'a' both have ext4_mb_bitmap_load: choose one with --buffer");
  }
}

// ---- damage

TEST(DamagedRecording, SaysWhatItIs) {
  DatBuilder b = builder();
  b.packing_name = "lzma";
  EXPECT_NE(test::read_text(alternating(b)).error.find("t: compressed with 'lzma'"),
            std::string::npos);
  b = builder();
  b.version = 8;
  EXPECT_EQ(test::read_text(alternating(b)).error,
            "t: is of version '8' of trace-cmd's files, but this program reads 6 and 7");
  b = builder();
  b.formats.front().second.replace(b.formats.front().second.find("group"), 5, "grupp");
  EXPECT_EQ(test::read_text(alternating(b)).error,
            "t: the format of ext4_mb_bitmap_load has no field group; --lenient skips such events");
  ReadOptions shrinker;
  shrinker.needed = KindSet::for_purpose(Purpose::shrinker);
  const ReadTrace passed = test::read_text(alternating(b), shrinker);
  EXPECT_EQ(passed.error, "");
  EXPECT_EQ(passed.summary.malformed[static_cast<std::size_t>(EventKind::bitmap_load)],
            passed.summary.skipped_lines);
  EXPECT_GT(passed.summary.skipped_lines, 0u);
  b = builder();
  b.buffers = {};
  EXPECT_EQ(test::read_text(b.build()).error, "t: holds no buffer: was the recording finished?");
}

TEST(DamagedRecording, IsReadAsFarAsItGoesWhenLenient) {
  DatBuilder b = builder();
  const std::string good = page(b, 1).record(0, load(b, 0)).build();
  std::string bad = page(b, 2).record(0, load(b, 1)).build();
  bad[8] = '\x7f';  // the number of committed bytes
  bad[9] = '\x7f';
  const std::string short_one =
      page(b, 3).record(0, load(b, 2).substr(0, 12)).record(1, load(b, 3)).build();
  b.buffers = {{"", {good + bad + short_one}}};
  const std::string file = b.build();
  EXPECT_NE(test::read_text(file).error.find(", of CPU 0: a page claims more than it can hold"),
            std::string::npos);
  ReadOptions lenient;
  lenient.lenient = true;
  const ReadTrace read = test::read_text(file, lenient);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.summary.skipped_lines, 1u);
  EXPECT_EQ(read.summary.damaged, 1u);
  EXPECT_EQ(read.summary.warnings.size(), 1u);
  EXPECT_EQ(not_understood(read.summary).size(), 2u);
}

// Checks that damaged input gives events or a one-line error, and few warnings.
void expect_calm(const std::string& bytes, bool lenient) {
  ReadOptions options;
  options.lenient = lenient;
  const ReadTrace read = test::read_text(bytes, options);
  EXPECT_EQ(read.error.find('\n'), std::string::npos);
  EXPECT_LE(read.events.size(), bytes.size());
  EXPECT_LE(read.summary.warnings.size(), 100u);
}

std::vector<std::string> victims() {
  std::vector<std::string> out;
  for (const char* name : {"dat-6-two-cpus.dat.zst", "dat-7-plain.dat.zst"}) {
    const auto source = open_bytes(data(name), {.read_ahead = false});
    out.emplace_back();
    for (auto chunk = (*source)->next(); chunk.ok() && !chunk->empty(); chunk = (*source)->next())
      out.back() += *chunk;
  }
  for (const char* name : {"dat-7-two-cpus.dat", "dat-7-instance.dat"})
    out.push_back(test::file_bytes(data(name)));
  DatBuilder b = builder();
  b.packing = Packing::zlib;
  out.push_back(alternating(b));
  return out;
}

TEST(DamagedRecording, CutAnywhereIsToldInALine) {
  for (const std::string& whole : victims())
    for (std::size_t size = 10; size < whole.size(); size += 1 + whole.size() / 300)
      for (const bool lenient : {false, true}) expect_calm(whole.substr(0, size), lenient);
}

TEST(DamagedRecording, FlippedAnywhereIsToldInALine) {
  const char* given = std::getenv("E4R_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261122;
  RecordProperty("seed", std::to_string(seed));
  Rng rng(seed);
  const auto files = victims();
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = files[rng.below(files.size())];
    for (std::uint64_t flips = 1 + rng.below(8); flips > 0; --flips) {
      // Half of the changes are in the first bytes, which describe the structure of the file.
      const std::size_t at = 10 + rng.below(rng.chance(1, 2) ? 300 : bytes.size() - 10);
      bytes[std::min(at, bytes.size() - 1)] = static_cast<char>(rng.next());
    }
    expect_calm(bytes, rng.chance(1, 2));
  }
}

// trace-cmd puts the CPU's number in front of the text of tracefs.
TEST(BufferStats, EveryLossCounts) {
  const std::string stats =
      "entries: 5\noverrun: 20\ncommit overrun: 3\nbytes: 340\noldest event ts:   1.5\n"
      "now ts:   2.5\ndropped events: 100\nread events: 7\n";
  EXPECT_EQ(lost_by_stats(stats), 123u);
  EXPECT_EQ(lost_by_stats("CPU: 1\n" + stats), 123u);
  EXPECT_EQ(lost_by_stats("entries: 5\noverrun: 20"), 20u);
  EXPECT_EQ(lost_by_stats("entries: 5\noverrun: \n"), 0u);
  EXPECT_EQ(lost_by_stats(""), 0u);
}

}  // namespace
}  // namespace e4r::trace
