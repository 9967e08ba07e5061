// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "trace/e4t/block.h"
#include "trace/e4t/file.h"
#include "trace/random_events.h"
#include "trace/support.h"
#include "util/rng.h"

namespace e4r::trace {
namespace {

using test::random_events;
using test::read_text;

std::string pack(const std::vector<Event>& events, const TraceSummary& summary = {}) {
  std::string out;
  e4t::Writer writer(out);
  writer.begin();
  writer.add(events, summary.generation);
  writer.finish(summary);
  return out;
}

TEST(E4t, VarintsKeepEveryValue) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = rng.next() >> rng.below(64);
    std::uint8_t bytes[e4t::kMaxVarint];
    const std::uint8_t* end = e4t::put_varint(bytes, value);
    const std::uint8_t* p = bytes;
    EXPECT_EQ(e4t::get_varint(p), value);
    EXPECT_EQ(p, end);
    EXPECT_EQ(e4t::unzigzag(e4t::zigzag(value)), value);
  }
  EXPECT_EQ(e4t::zigzag(0), 0u);
  EXPECT_EQ(e4t::zigzag(static_cast<std::uint64_t>(-1)), 1u);
  EXPECT_EQ(e4t::zigzag(1), 2u);
}

TEST(E4t, AnyEventsComeBack) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::size_t count : {0, 1, 100, 30'000}) {
      const auto events = random_events(seed, count, false);
      const auto read = read_text(pack(events));
      EXPECT_EQ(read.error, "");
      EXPECT_TRUE(read.events == events) << "seed " << seed << ", " << count << " events";
    }
  }
}

TEST(E4t, NoEventIsLongerThanTheReaderExpects) {
  Event e;
  e.time_ns = ~std::uint64_t{0} / 3;
  e.pid = e.dev = e.flags = e.left_logical = e.right_logical = 0x99999999;
  e.cpu = 0xffff;
  e.ino = e.block = e.count = e.logical = e.goal = e.left_block = e.right_block =
      1ULL << 63 | 12345;
  e.i_size = 1ULL << 62;
  e.i_writecount = INT32_MIN;
  e.has_inputs = true;
  e.orig = e.goal_ex = e.result = {0x99999999, INT32_MIN + 5, 0x87654321, 0x77777777};
  e.found = e.groups = e.tail = e.broken = e.needed = 0x88888888;
  e.parent = 1ULL << 60;
  for (int k = 0; k < kEventKinds; ++k) {
    e4t::BlockEncoder encoder;
    e.kind = static_cast<EventKind>(k);
    encoder.add(e);
    EXPECT_LE(encoder.payload().size(), e4t::kMaxEventBytes);
  }
}

TEST(E4t, KindsBeyondTheirBitsEscape) {
  for (std::uint32_t kind = 0; kind < 1000; ++kind) {
    std::uint8_t bytes[1 + e4t::kMaxVarint];
    const std::uint8_t* const end = e4t::put_kind(bytes, kind);
    EXPECT_EQ(end - bytes, kind < 31 ? 1 : kind < 31 + 128 ? 2 : 3) << kind;
    EXPECT_EQ(bytes[0] & 0xe0, 0) << kind;
    const std::uint8_t* p = bytes + 1;
    EXPECT_EQ(e4t::get_kind(bytes[0] | 0xe0, p), kind);
    EXPECT_EQ(p, end) << kind;
  }
}

// Kinds of events that do not exist yet count as damage, in either encoding of kinds.
TEST(E4t, KindsThatThereAreNotEndABlock) {
  // The tags of kinds are consecutive, so kEventKinds is the first unknown kind.
  for (const std::uint64_t kind :
       std::initializer_list<std::uint64_t>{kEventKinds, 126, 127, 128, ~std::uint64_t{0}}) {
    std::vector<std::uint8_t> bytes(2 * e4t::kMaxEventBytes);
    std::uint8_t* end = bytes.data();
    if (kind < e4t::kEscapedKind) {
      *end++ = static_cast<std::uint8_t>(kind);
    } else {
      *end++ = e4t::kEscapedKind;
      end = e4t::put_varint(end, kind - e4t::kEscapedKind);
    }
    e4t::BlockDecoder decoder({bytes.data(), static_cast<std::size_t>(end - bytes.data())}, 1);
    std::vector<Event> out(1);
    EXPECT_FALSE(decoder.read(out).ok()) << kind;
  }
}

// The tags must not change, because old files must stay readable.
TEST(E4t, KindsKeepTheirTags) {
  using enum EventKind;
  const std::vector<EventKind> by_tag = {request_blocks,
                                         allocate_blocks,
                                         mballoc_alloc,
                                         mballoc_prealloc,
                                         new_inode_pa,
                                         new_group_pa,
                                         release_inode_pa,
                                         release_group_pa,
                                         discard_preallocations,
                                         mb_discard_preallocations,
                                         free_blocks,
                                         mballoc_free,
                                         mballoc_discard,
                                         buddy_bitmap_load,
                                         bitmap_load,
                                         allocate_inode,
                                         free_inode,
                                         commit_flushing,
                                         end_commit,
                                         lost_events,
                                         prefetch_bitmaps,
                                         es_insert_extent,
                                         es_cache_extent,
                                         es_insert_delayed_block,
                                         es_remove_extent,
                                         es_lookup_enter,
                                         es_lookup_exit,
                                         es_shrink_scan_enter,
                                         es_shrink_scan_exit,
                                         es_shrink,
                                         discard_blocks,
                                         trim_all_free,
                                         mark_used,
                                         mark_freed,
                                         collapse_range,
                                         insert_range};
  for (std::size_t tag = 0; tag < by_tag.size(); ++tag) {
    e4t::BlockEncoder encoder;
    Event e;
    e.kind = by_tag[tag];
    encoder.add(e);
    const std::uint8_t* next = &encoder.payload()[1];
    EXPECT_EQ(e4t::get_kind(encoder.payload()[0], next), tag) << event_name(e.kind);
  }
}

TEST(E4t, KeepsWhatTheSummaryKnows) {
  TraceSummary s;
  s.recorded_as = Format::perf;
  s.generation = Generation::v6_5;
  s.generation_guessed = true;
  s.entries_in_buffer = 10;
  s.entries_written = 12;
  s.overwritten = 2;
  s.lines = 99;
  s.unknown_flags = 1;
  s.unknown_criteria = 2;
  s.unknown_fields = 3;
  s.skipped_lines = 4;
  s.unknown_flags_of[static_cast<std::size_t>(EventKind::free_blocks)] = 1;
  s.unknown_fields_of[static_cast<std::size_t>(EventKind::request_blocks)] = 3;
  s.malformed[static_cast<std::size_t>(EventKind::es_lookup_exit)] = 3;
  s.damaged = 5;
  s.without_cpu = 6;
  s.older_than = OlderThan::v5_9;
  s.unknown_events = {{"sched_switch", 7}, {"ext4_sync", 1}};
  s.warnings = {"the last line was cut"};
  const TraceSummary back = read_text(pack(random_events(1, 10, false), s)).summary;
  EXPECT_EQ(back.format, Format::e4t);
  EXPECT_EQ(back.recorded_as, s.recorded_as);
  EXPECT_EQ(back.generation, s.generation);
  EXPECT_EQ(back.generation_guessed, s.generation_guessed);
  EXPECT_EQ(back.entries_written, s.entries_written);
  EXPECT_EQ(back.overwritten, s.overwritten);
  EXPECT_EQ(back.lines, s.lines);
  EXPECT_EQ(back.unknown_criteria, s.unknown_criteria);
  EXPECT_EQ(back.unknown_fields, s.unknown_fields);
  EXPECT_EQ(back.skipped_lines, s.skipped_lines);
  EXPECT_EQ(back.unknown_flags_of, s.unknown_flags_of);
  EXPECT_EQ(back.unknown_fields_of, s.unknown_fields_of);
  EXPECT_EQ(back.malformed, s.malformed);
  EXPECT_EQ(back.damaged, s.damaged);
  EXPECT_EQ(back.without_cpu, s.without_cpu);
  EXPECT_EQ(back.older_than, s.older_than);
  EXPECT_EQ(back.unknown_events, s.unknown_events);
  EXPECT_EQ(back.warnings, s.warnings);
}

TEST(E4t, EveryTruncationIsFound) {
  const std::string whole = pack(random_events(5, 200, false));
  for (std::size_t size = e4t::kMagic.size(); size < whole.size(); ++size) {
    const auto read = read_text(whole.substr(0, size));
    EXPECT_NE(read.error, "") << size;
    ReadOptions lenient;
    lenient.lenient = true;
    const auto passed = read_text(whole.substr(0, size), lenient);
    EXPECT_EQ(passed.error, "") << size;
    EXPECT_FALSE(passed.summary.warnings.empty()) << size;
  }
}

TEST(E4t, EveryDamagedByteIsFound) {
  const std::string whole = pack(random_events(6, 200, false));
  for (std::size_t at = e4t::kMagic.size(); at < whole.size(); ++at) {
    if (at == 10 || at == 11) continue;  // two zero bytes that no reader checks
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    EXPECT_NE(read_text(bad).error, "") << at;
  }
}

TEST(E4t, ErrorsSayWhereAndWhat) {
  const std::string whole = pack(random_events(7, 100, false));
  EXPECT_EQ(read_text(whole.substr(0, whole.size() - 5)).error.substr(0, 3), "t: ");
  std::string newer = whole;
  newer[8] = 9;
  EXPECT_EQ(read_text(newer).error, "t: is .e4t version 9, but this program reads version 1");
  EXPECT_EQ(read_text(whole + "x").error,
            "t: at byte " + std::to_string(whole.size()) + ": data after the end");
}

TEST(E4t, LenientLeavesOutADamagedBlock) {
  const auto events = random_events(8, 20'000, false);
  std::string bad = pack(events);
  bad[bad.size() / 2] ^= 1;
  ReadOptions lenient;
  lenient.lenient = true;
  const auto read = read_text(bad, lenient);
  EXPECT_EQ(read.error, "");
  EXPECT_LT(read.events.size(), events.size());
  EXPECT_GT(read.events.size(), events.size() / 2);
  EXPECT_EQ(read.summary.warnings.size(), 2u);  // about the block, and about the final count
}

// A decoder can be copied and assigned. Its model must be copied with it.
TEST(E4t, DecodersCanBeCopied) {
  std::vector<Event> events = random_events(10, 200, false);
  for (Event& e : events) e.pid = 0;  // the initial thread, which needs no context part
  e4t::BlockEncoder encoder;
  encoder.clear();
  for (const Event& e : events) encoder.add(e);
  std::vector<std::uint8_t> bytes(encoder.payload().begin(), encoder.payload().end());
  const std::size_t size = bytes.size();
  bytes.resize(size + e4t::kMaxEventBytes);
  std::vector<e4t::BlockDecoder> decoders(1);
  decoders[0] = e4t::BlockDecoder({bytes.data(), size}, encoder.events());
  decoders.resize(100, decoders[0]);
  for (e4t::BlockDecoder& decoder : decoders) {
    std::vector<Event> out(events.size());
    ASSERT_EQ(decoder.read(out).value(), events.size());
    EXPECT_TRUE(out == events);
  }
}

// A block with valid checksums can still have any contents. The decoder must terminate and must not
// read out of bounds.
TEST(E4t, HostileBlocksEnd) {
  Rng rng(9);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = rng.below(200);
    std::vector<std::uint8_t> bytes(size + e4t::kMaxEventBytes, 0xff);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(rng.next());
    e4t::BlockDecoder decoder({bytes.data(), size}, static_cast<std::uint32_t>(rng.below(300)));
    std::vector<Event> out(64);
    for (int i = 0; i < 10; ++i) {
      const auto got = decoder.read(out);
      if (!got.ok() || *got == 0) break;
    }
  }
}

}  // namespace
}  // namespace e4r::trace
