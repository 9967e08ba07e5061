// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "trace/support.h"
#include "trace/text/body.h"

namespace e4r::trace {
namespace {

using test::read_text;
using test::ReadTrace;

// A trace in the format of Linux 6.1.
constexpr std::string_view kShortTrace =
    "# tracer: nop\n"
    "#\n"
    "# entries-in-buffer/entries-written: 19/19   #P:1\n"
    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
    "           churn-57      [000] .....     0.910000: ext4_allocate_inode: dev 98,0 ino 13 dir 2 "
    "mode 040755\n"
    "           churn-57      [003] d..2.     0.920001: ext4_request_blocks: dev 98,0 ino 13 flags "
    "HINT_DATA|HINT_NOPREALLOC|0x8000 len 4 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200 "
    "\n"
    "           churn-57      [000] .....     0.920001: ext4_mballoc_alloc: dev 98,0 inode 13 orig "
    "1/0/4@7 goal 1/-1/64@0 result 1/960/64@0 blks 8 grps 2 cr 3 flags HINT_DATA tail 15 broken "
    "16\n"
    "           churn-57      [000] .....     0.920001: ext4_allocate_blocks: dev 98,0 ino 13 "
    "flags "
    " len 4 block 33728 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200\n";

TEST(FtraceText, ReadsEveryFieldOfTheMainEvents) {
  const auto read = read_text(kShortTrace);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 4u);
  Event request;
  request.kind = EventKind::request_blocks;
  request.cpu = 3;
  request.pid = 57;
  request.dev = make_dev(98, 0);
  request.time_ns = 920001000;
  request.ino = 13;
  request.flags = mb::hint_data | mb::hint_noprealloc | mb::cr0_optimized;
  request.count = 4;
  request.logical = 7;
  request.goal = 100;
  request.left_logical = 6;
  request.right_logical = 90;
  request.left_block = 99;
  request.right_block = 200;
  EXPECT_EQ(read.events[1], request);
  Event closing;
  closing.kind = EventKind::mballoc_alloc;
  closing.pid = 57;
  closing.dev = make_dev(98, 0);
  closing.time_ns = 920001000;
  closing.ino = 13;
  closing.orig = {1, 0, 4, 7};
  closing.goal_ex = {1, -1, 64, 0};
  closing.result = {1, 960, 64, 0};
  closing.found = 8;
  closing.groups = 2;
  closing.criterion = mb::Criterion::cr3;
  closing.flags = mb::hint_data;
  closing.tail = 15;
  closing.broken = 16;
  EXPECT_EQ(read.events[2], closing);
  EXPECT_EQ(read.events[3].flags, 0u);
  EXPECT_EQ(read.events[3].block, 33728u);
}

TEST(FtraceText, SummaryTellsFormatGenerationAndCounts) {
  const TraceSummary s = read_text(kShortTrace).summary;
  EXPECT_EQ(s.format, Format::ftrace);
  EXPECT_EQ(s.generation, Generation::v6_1);
  EXPECT_TRUE(s.generation_guessed);
  EXPECT_EQ(s.events, 4u);
  EXPECT_EQ(s.count(EventKind::request_blocks), 1u);
  EXPECT_EQ(s.first_ns, 910000000u);
  EXPECT_EQ(s.last_ns, 920001000u);
  EXPECT_EQ(s.lines, 8u);
}

// Makes a line of ftrace text with this event and body.
std::string line(std::string_view event, std::string_view body) {
  return fmt::format("           churn-57      [000] .....     0.910000: {}: {}\n", event, body);
}
std::string search_line(std::string_view cr) {
  return line(
      "ext4_mballoc_alloc",
      fmt::format("dev 98,0 inode 13 orig 1/0/4@7 goal 1/0/4@7 result 1/960/4@7 blks 8 grps "
                  "2 cr {} flags  tail 0 broken 0",
                  cr));
}
constexpr std::string_view kRequest =
    "dev 98,0 ino 13 flags HINT_DATA len 4 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200 ";

TEST(FtraceText, TraceInputsFieldsAreOptional) {
  for (const char* tail : {"i_size 4096 i_writecount -1", " i_size 4096 i_writecount -1 "}) {
    const auto read = read_text(line("ext4_request_blocks", std::string(kRequest) + tail));
    ASSERT_EQ(read.error, "");
    EXPECT_TRUE(read.events[0].has_inputs);
    EXPECT_EQ(read.events[0].i_size, 4096u);
    EXPECT_EQ(read.events[0].i_writecount, -1);
    EXPECT_EQ(read.summary.requests_with_inputs, 1u);
  }
  EXPECT_FALSE(read_text(line("ext4_request_blocks", kRequest)).events[0].has_inputs);
}

// A small compressed file can contain so many blank lines that reading them would take hours. So
// the number of lines that are not events is limited. But a real trace with long comments must be
// read.
TEST(FtraceText, LinesThatAreNoEventsHaveALimit) {
  const std::string event = line("ext4_request_blocks", kRequest);
  std::string notes;
  while (notes.size() < 60'000'000) notes += "# a note of what was done while this was recorded\n";
  const auto read = read_text(event + notes + event);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.events.size(), 2u);
  std::string newlines;
  newlines.resize(16'800'000, '\n');
  EXPECT_NE(read_text(event + newlines).error.find(":16778242: 16,778,241 lines up to here"),
            std::string::npos)
      << read_text(event + newlines).error;
}

TEST(FtraceText, UnknownFieldsAreToleratedAnywhere) {
  const auto plain = read_text(line("ext4_request_blocks", kRequest)).events;
  for (const char* body :
       {"dev 98,0 ino 13 flags HINT_DATA len 4 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright "
        "200 mood good",
        "dev 98,0 mood good ino 13 flags HINT_DATA len 4 lblk 7 goal 100 lleft 6 lright 90 pleft "
        "99 "
        "pright 200",
        "dev 98,0 flags HINT_DATA ino 13 len 4  lblk 7 goal 100 pleft 99 pright 200 lleft 6 lright "
        "90 7"}) {
    const auto read = read_text(line("ext4_request_blocks", body));
    EXPECT_EQ(read.error, "") << body;
    EXPECT_EQ(read.events, plain) << body;
    EXPECT_EQ(read.summary.unknown_fields, 1u) << body;
    EXPECT_EQ(not_understood(read.summary),
              std::vector<std::string>{"1 ext4_request_blocks events have fields that this program "
                                       "does not know, which were left out"});
  }
}

TEST(FtraceText, EveryNameIsThatOfItsKind) {
  for (int k = 0; k < static_cast<int>(EventKind::lost_events); ++k)
    EXPECT_EQ(kind_of(event_name(static_cast<EventKind>(k))), static_cast<EventKind>(k)) << k;
}

// The events are in the format of Linux 6.1.
TEST(FtraceText, EventsOfExtentStatusTrees) {
  const auto read = read_text(
      line("ext4_es_cache_extent", "dev 98,0 ino 8 es [4/8192) mapped 131072 status WR") +
      line("ext4_es_insert_delayed_block",
           "dev 98,0 ino 12 es [7/1) mapped 0 status D allocated 0") +
      line("ext4_es_remove_extent", "dev 98,0 ino 12 es [0/4294967295)") +
      line("ext4_es_lookup_extent_enter", "dev 98,0 ino 12 lblk 97") +
      line("ext4_es_lookup_extent_exit", "dev 98,0 ino 12 found 1 [90/10) 4241 U") +
      line("ext4_es_lookup_extent_exit", "dev 98,0 ino 12 found 0 [0/0) 0 ") +
      line("ext4_es_shrink_scan_enter", "dev 98,0 nr_to_scan 128 cache_cnt 500") +
      line("ext4_es_shrink", "dev 98,0 nr_shrunk 100, scan_time 23 nr_skipped 2 retried 1") +
      line("ext4_es_shrink_scan_exit", "dev 98,0 nr_shrunk 100 cache_cnt 400"));
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 9u);
  const auto& e = read.events;
  EXPECT_EQ(e[0].kind, EventKind::es_cache_extent);
  EXPECT_EQ(e[0].ino, 8u);
  EXPECT_EQ(e[0].logical, 4u);
  EXPECT_EQ(e[0].count, 8192u);
  EXPECT_EQ(e[0].block, 131072u);
  EXPECT_EQ(e[0].flags, es::written | es::referenced);
  EXPECT_EQ(e[1].flags, es::delayed);
  EXPECT_EQ(e[2].count, 4294967295u);
  EXPECT_EQ(e[3].logical, 97u);
  EXPECT_EQ(e[4].found, 1u);
  EXPECT_EQ(e[4].logical, 90u);
  EXPECT_EQ(e[4].flags, es::unwritten);
  EXPECT_EQ(e[5].found, 0u);
  EXPECT_EQ(e[5].flags, 0u);
  EXPECT_EQ(e[6].needed, 128u);
  EXPECT_EQ(e[6].count, 500u);
  EXPECT_EQ(e[7].found, 100u);
  EXPECT_EQ(e[7].count, 23u);
  EXPECT_EQ(e[7].needed, 2u);
  EXPECT_EQ(e[7].tail, 1u);
  EXPECT_EQ(e[8].found, 100u);
  EXPECT_FALSE(e[7].has_inputs);
  const auto longer = read_text(line(
      "ext4_es_shrink",
      "dev 98,0 nr_shrunk 100, scan_time 23 nr_skipped 0 retried 0 scan_ns 23456 nr_to_scan 128 "
      "nr_visited 120 nr_spared 20 nr_inodes 3"));
  ASSERT_EQ(longer.error, "");
  EXPECT_EQ(longer.summary.unknown_fields, 0u);
  EXPECT_TRUE(longer.events[0].has_inputs);
  EXPECT_EQ(longer.events[0].groups, 120u);
  const auto stranger =
      read_text(line("ext4_es_cache_extent", "dev 98,0 ino 8 es [4/8192) mapped 131072 status WX"));
  EXPECT_EQ(stranger.error, "");
  EXPECT_EQ(stranger.events.at(0).flags, es::written);
  EXPECT_EQ(stranger.summary.unknown_flags_of[static_cast<std::size_t>(EventKind::es_cache_extent)],
            1u);
  EXPECT_NE(
      read_text(line("ext4_es_cache_extent", "dev 98,0 ino 8 es [4/8192) mapped 131072 status ?"))
          .error,
      "");
  EXPECT_NE(read_text(line("ext4_es_remove_extent", "dev 98,0 ino 12 es [0/7")).error, "");
}

TEST(FtraceText, BatchesOfReadBitmapsHaveFirstNextAndReads) {
  const auto read = read_text(line("ext4_prefetch_bitmaps", "dev 98,0 group 64 next 3 ios 20"));
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.events[0].kind, EventKind::prefetch_bitmaps);
  EXPECT_EQ(read.events[0].group, 64u);
  EXPECT_EQ(read.events[0].count, 3u);
  EXPECT_EQ(read.events[0].needed, 20u);
}

TEST(FtraceText, UnknownFlagsAreCountedNotFatal) {
  const auto read = read_text(line("ext4_free_blocks",
                                   "dev 98,0 ino 13 mode 0100644 block 5 count 6 flags "
                                   "METADATA|SHINY|0x400"));
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(read.events[0].flags, fb::metadata | 0x400);
  EXPECT_EQ(read.summary.unknown_flags, 1u);
  EXPECT_FALSE(notes(read.summary).empty());
}

const std::string kOffer = "; --lenient skips what cannot be read";

TEST(FtraceText, MalformedEventsNameFileLineAndField) {
  const std::string good = line("ext4_request_blocks", kRequest);
  const std::string missing = line("ext4_free_inode", "dev 98,0 ino 13 uid 0");
  EXPECT_EQ(read_text(good + missing + good).error,
            "t:2: malformed ext4_free_inode event: 'mode' is missing" + kOffer);
  const std::string no_number = line("ext4_mb_buddy_bitmap_load", "dev 98,0 group x");
  EXPECT_EQ(
      read_text("# tracer: nop\n\n" + no_number + good).error,
      "t:3: malformed ext4_mb_buddy_bitmap_load event: 'group' has an invalid value" + kOffer);
  EXPECT_EQ(read_text(good + "what is this?\n").error,
            "t:2: this is not a line of ftrace text output" + kOffer);
  for (const char* body : {"dev 98,0 group 4294967296", "dev 98 group 1", "dev 98,0 group -1",
                           "dev 98,0 group 1x", "dev 9999999,0 group 1", "dev 98,0 group", ""})
    EXPECT_NE(read_text(fmt::format("{0}{1}{0}", good, line("ext4_mb_bitmap_load", body))).error,
              "")
        << body;
}

// Old kernels print some events differently. Linux 3.6 prints flags as a number, kernels before 5.7
// print the referenced bit as a number, and kernels before 5.9 print a discard without its length.
TEST(OldKernels, AreReadInTheirWords) {
  const auto plain = read_text(line("ext4_request_blocks", kRequest));
  std::string decimal(kRequest);
  decimal.replace(decimal.find("HINT_DATA"), 9, "32");
  const auto old = read_text(line("ext4_request_blocks", decimal));
  EXPECT_EQ(old.error, "");
  EXPECT_EQ(old.events, plain.events);
  EXPECT_EQ(old.summary.unknown_flags, 0u);
  EXPECT_EQ(kernel_of(old.summary), "before 4.0");
  EXPECT_EQ(plain.summary.older_than, OlderThan::unknown);
  const auto none =
      read_text(line("ext4_free_blocks", "dev 98,0 ino 13 mode 0100644 block 5 count 6 flags 0"));
  EXPECT_EQ(none.events.at(0).flags, 0u);
  const auto lookup =
      read_text(line("ext4_es_lookup_extent_exit", "dev 98,0 ino 12 found 1 [90/10) 4241 W0x10"));
  EXPECT_EQ(lookup.error, "");
  EXPECT_EQ(lookup.events.at(0).flags, es::written | es::referenced);
  EXPECT_EQ(kernel_of(lookup.summary), "before 5.7");
  for (const char* body : {"dev 98,0 ino 12 ", "dev 98,0 ino 12", "dev 98,0  ino 12"}) {
    const auto discard = read_text(line("ext4_discard_preallocations", body));
    EXPECT_EQ(discard.error, "");
    EXPECT_EQ(discard.events.at(0).ino, 12u);
    EXPECT_EQ(kernel_of(discard.summary), "before 5.9");
  }
  const auto later = read_text(line("ext4_discard_preallocations", "dev 98,0 ino 12 len: 3"));
  EXPECT_EQ(later.summary.older_than, OlderThan::unknown);
}

// If a command does not need some malformed events, they must not stop it. They are counted for
// each kind of event.
TEST(FtraceText, EventsThatNobodyNeedsStopNothing) {
  const std::string text = line("ext4_request_blocks", kRequest) +
                           line("ext4_es_lookup_extent_exit", "dev 98,0 ino 12 found x") +
                           line("ext4_es_lookup_extent_exit", "dev 98,0 ino 12 found y");
  ReadOptions options;
  EXPECT_NE(read_text(text, options).error, "");
  options.needed = KindSet::for_purpose(Purpose::shrinker);
  EXPECT_NE(read_text(text, options).error, "");
  options.needed = KindSet::for_purpose(Purpose::allocator);
  const auto read = read_text(text, options);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.summary.skipped_lines, 2u);
  EXPECT_EQ(not_understood(read.summary),
            std::vector<std::string>{"2 malformed ext4_es_lookup_extent_exit events were skipped"});
}

TEST(Recognition, NamesTheFormsThatAreNoUse) {
  const auto says = [](const std::string& text, const char* words) {
    const std::string error = read_text(text).error;
    EXPECT_NE(error.find(words), std::string::npos) << error << " for " << text;
  };
  says(
      "            dd-1234  [000]   123.456789: ext4_request_blocks:  dev=8388609 ino=12 "
      "flags=32\n",
      "trace-cmd report -R");
  says("     0.000 dd/1234 ext4:ext4_request_blocks(dev: 8388609, ino: 12, flags: 32)\n",
       "perf trace");
  says("  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n", "blkparse");
  says("{\"traceEvents\": [{\"ph\": \"X\"}]}\n", "Perfetto");
  says(std::string("\n\x20\x08\x00\x10\x00\n\x20\x08\x01\x10\x00", 12), "Perfetto");
}

// Reads a text of two events.
auto read_two(const std::string& text) {
  auto read = read_text(text);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.events.size(), 2u);
  return read;
}

// The input is the output of `trace-cmd report --ts-diff`.
TEST(Recognition, DifferencesOfTimesArePassedOver) {
  const auto read = read_two(
      "            dd-1234  [000]   123.456789:          ext4_mb_bitmap_load:  dev 98,0 group 1\n"
      "            dd-1234  [000]   123.456799: (+10)    ext4_mb_bitmap_load:  dev 98,0 group 2\n");
  EXPECT_EQ(read.events.at(1).group, 2u);
}

TEST(PerfText, EventsWithoutCpuAreCounted) {
  const auto read = read_two(
      "dd  1234   123.456789: ext4:ext4_mb_bitmap_load: dev 98,0 group 1\n"
      "dd  1234 [001]   123.456789: ext4:ext4_mb_bitmap_load: dev 98,0 group 1\n");
  EXPECT_EQ(read.summary.without_cpu, 1u);
  ASSERT_EQ(not_understood(read.summary).size(), 1u);
  EXPECT_TRUE(not_understood(read.summary)[0].starts_with("1 events do not say their CPU"));
}

TEST(FtraceText, LenientSkipsAndCounts) {
  const std::string good = line("ext4_request_blocks", kRequest);
  ReadOptions lenient;
  lenient.lenient = true;
  const auto read =
      read_text(good + line("ext4_free_inode", "dev 98,0") + "what is this?\n" + good, lenient);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.summary.skipped_lines, 2u);
  EXPECT_EQ(not_understood(read.summary),
            (std::vector<std::string>{"1 malformed ext4_free_inode events were skipped",
                                      "1 malformed lines were skipped"}));
}

TEST(FtraceText, NumbersMayBeAsLargeAsTheirFields) {
  const auto read = read_text(
      line("ext4_mb_release_inode_pa", "dev 98,0 ino 18446744073709551615 block 007 count 1"));
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(read.events[0].ino, UINT64_MAX);
  EXPECT_EQ(read.events[0].block, 7u);
  EXPECT_NE(read_text(line("ext4_mb_release_inode_pa",
                           "dev 98,0 ino 18446744073709551616 block 1 count 1"))
                .error,
            "");
}

TEST(FtraceText, CarriageReturnsAndNoHeader) {
  std::string text(kShortTrace);
  const auto plain = read_text(text);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read_text(crlf).events, plain.events);
  EXPECT_EQ(read_text(text.substr(text.find("           churn"))).events, plain.events);
}

TEST(FtraceText, EveryCutOfTheLastLineIsSaid) {
  const std::string text(kShortTrace);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t size = last + 1; size < text.size(); ++size) {
    const auto read = read_text(text.substr(0, size));
    EXPECT_EQ(read.error, "") << size;
    EXPECT_GE(read.events.size(), 3u);
    EXPECT_EQ(read.summary.warnings.size(), 1u) << size;
  }
}

TEST(FtraceText, EmptyTracesAreTracesWithoutEvents) {
  for (const char* text : {"", "\n",
                           "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0  "
                           " #P:2\n#\n"}) {
    const auto read = read_text(text);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.summary.events, 0u);
  }
}

TEST(Recognition, SaysWhatItCannotRead) {
  EXPECT_EQ(read_text("hello\nworld\n").error,
            "t: is not a trace: neither ftrace, trace-cmd report nor perf script text, nor a "
            "trace-cmd recording, nor .e4t");
  EXPECT_NE(read_text("PERFILE2abc").error.find("perf script"), std::string::npos);
}

TEST(Lost, EveryRecordersMarkers) {
  const std::string good = line("ext4_request_blocks", kRequest);
  for (const auto& [marker, cpu, count] : {std::tuple{"CPU:3 [LOST 12 EVENTS]", 3, 12},
                                           {"CPU:3 [LOST EVENTS]", 3, 0},
                                           {"CPU:1 [12 EVENTS DROPPED]", 1, 12},
                                           {"CPU:1 [EVENTS DROPPED]", 1, 0},
                                           {"LOST 5 events!", 0, 5}}) {
    const auto read = read_text(fmt::format("{0}{1}\n{0}", good, marker));
    EXPECT_EQ(read.error, "") << marker;
    ASSERT_EQ(read.events.size(), 3u) << marker;
    EXPECT_EQ(read.events[1].kind, EventKind::lost_events);
    EXPECT_EQ(read.events[1].cpu, cpu);
    EXPECT_EQ(read.events[1].count, static_cast<std::uint64_t>(count));
    EXPECT_EQ(read.events[1].time_ns, read.events[0].time_ns);
    EXPECT_TRUE(read.summary.lost_any());
  }
}

std::vector<mb::Criterion> criteria(const ReadTrace& read) {
  std::vector<mb::Criterion> out;
  for (const Event& e : read.events) out.push_back(e.criterion);
  return out;
}

TEST(Generations, DigitsMeanLinux61UnlessTold) {
  using enum mb::Criterion;
  const std::string text =
      search_line("0") + search_line("1") + search_line("2") + search_line("3");
  EXPECT_EQ(criteria(read_text(text)), (std::vector{cr0, cr1, cr2, cr3}));
  EXPECT_TRUE(read_text(text).summary.generation_guessed);
  ReadOptions options;
  options.generation = Generation::v6_5;
  EXPECT_EQ(criteria(read_text(text, options)), (std::vector{cr0, cr1, best_avail, cr2}));
  EXPECT_FALSE(read_text(text, options).summary.generation_guessed);
  options.generation = Generation::cr1_5;
  EXPECT_EQ(criteria(read_text(text + search_line("4"), options)),
            (std::vector{cr0, cr1, cr1_5, cr2, cr3}));
}

TEST(Generations, NamesSettleThem) {
  using enum mb::Criterion;
  const auto ours = read_text(search_line("CR0") + search_line("CR1_5") + search_line("CR3"));
  EXPECT_EQ(criteria(ours), (std::vector{cr0, cr1_5, cr3}));
  EXPECT_EQ(ours.summary.generation, Generation::cr1_5);
  const auto mainline = read_text(search_line("CR_ANY_FREE") + search_line("CR_BEST_AVAIL_LEN"));
  EXPECT_EQ(criteria(mainline), (std::vector{cr3, best_avail}));
  EXPECT_EQ(mainline.summary.generation, Generation::v6_5);
  const auto later = read_text(search_line("CR_TELEPATHY"));
  EXPECT_EQ(later.error, "");
  EXPECT_EQ(later.summary.unknown_criteria, 1u);
}

// __print_symbolic prints a number in hexadecimal if it has no name.
TEST(Generations, TheNumberBehindTheLastCriterionIsKept) {
  using enum mb::Criterion;
  const std::string text = search_line("CR_ANY_FREE") + search_line("0x5");
  for (const std::string& order : {text, search_line("0x5") + search_line("CR_ANY_FREE")}) {
    const auto read = read_text(order);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.summary.generation, Generation::v6_5);
    EXPECT_EQ(read.summary.unknown_criteria, 0u);
    EXPECT_EQ(read.events.at(order == text ? 1 : 0).criterion, past_last);
  }
  const auto ours = read_text(search_line("CR3") + search_line("0x5"));
  EXPECT_EQ(criteria(ours), (std::vector{cr3, unknown}));
}

TEST(Generations, AFourDisprovesTheGuess) {
  using enum mb::Criterion;
  EXPECT_EQ(criteria(read_text(search_line("1") + search_line("4") + search_line("2"))),
            (std::vector{cr1, cr3, best_avail}));
  const auto misread = read_text(search_line("2") + search_line("4"));
  EXPECT_EQ(
      misread.error,
      "t:2: criterion 4 shows a 6.5 or 6.6 kernel, but earlier criteria were taken for 6.1's: "
      "give --generation 6.5");
}

TEST(Generations, EveryWordAndNumberOfTheTableIsReadAndPrinted) {
  using Row = mb::CriterionRow;
  struct Columns {
    Generation generation;
    std::string_view Row::*word;
    std::int8_t Row::*number;
  };
  for (const auto& [generation, word, number] :
       {Columns{Generation::v6_5, &Row::word_6_5, &Row::number_6_5},
        Columns{Generation::cr1_5, &Row::word_cr1_5, &Row::number_cr1_5}})
    for (const Row& row : mb::kCriterionTable) {
      ReadOptions options;
      options.generation = generation;
      if (!(row.*word).empty()) {
        EXPECT_EQ(criteria(read_text(search_line(std::string(row.*word)))),
                  std::vector{row.criterion});
        std::string printed;
        print_criterion(printed, row.criterion, generation);
        EXPECT_EQ(printed, row.*word);
      }
      if (row.*number >= 0) {
        EXPECT_EQ(criteria(read_text(search_line(std::to_string(row.*number)), options)),
                  std::vector{row.criterion});
      }
    }
}

}  // namespace
}  // namespace e4r::trace
