// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the decoding of binary records with libtraceevent's output, for the formats of real
// kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "trace/decoder.h"
#include "trace/inspection.h"
#include "trace/records.h"
#include "trace/tep/decoder.h"
#include "util/rng.h"

namespace e4r::trace {
namespace {

using test::Tep;
using Outcome = RecordDecoder::Outcome;

// Returns a record with random numbers in its fields. Most are small, as in real records.
std::vector<unsigned char> random_record(const tep_event& event, Rng& rng) {
  std::vector<unsigned char> data(128);
  const auto put = [&](const tep_format_field& f, std::uint64_t value) {
    std::memcpy(data.data() + f.offset, &value, static_cast<std::size_t>(f.size));
  };
  for (const auto* f = event.format.fields; f != nullptr; f = f->next) {
    const std::string_view name = f->name;
    std::uint64_t value = rng.below(name == "cr" || name == "found" ? 6 : 40000);
    if (rng.chance(1, 8)) value = rng.next();
    if (rng.chance(1, 8)) value = UINT64_MAX;
    if (name == "status" || name == "buddy") value = rng.below(32);  // flag bits, or an order
    if (name == "dev_major" || name == "dev_minor") value = rng.below(4096);
    put(*f, value);
  }
  put(*tep_find_common_field(const_cast<tep_event*>(&event), "common_type"),
      static_cast<std::uint64_t>(event.id));
  put(*tep_find_common_field(const_cast<tep_event*>(&event), "common_pid"), rng.below(40000));
  return data;
}

tep_record record_of(std::vector<unsigned char>& data, int cpu = 3) {
  tep_record record = {};
  record.data = data.data();
  record.size = static_cast<int>(data.size());
  record.cpu = cpu;
  record.ts = 123'456'789'012ULL;
  return record;
}

std::string printed(tep_handle& tep, tep_record& record) {
  trace_seq seq;
  trace_seq_init(&seq);
  tep_print_event(&tep, &seq, &record, "%s", TEP_PRINT_INFO);
  trace_seq_terminate(&seq);
  std::string text = seq.buffer;
  trace_seq_destroy(&seq);
  return text;
}

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return std::string(TRACE_DATA "/formats-") + GetParam() + ".zst"; }
  Tep tep_ = test::tep_of(path());
};

TEST_P(Kernels, RecordsSayWhatTheKernelPrints) {
  ASSERT_NE(tep_, nullptr);
  auto decoder = RecordDecoder::create(*tep_);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  BodyContext context;
  Rng rng(20261122);
  int compared = 0, tried = 0;
  for (int i = 0; i < tep_get_events_count(tep_.get()); ++i) {
    const tep_event* event = tep_get_event(tep_.get(), i);
    const auto kind = kind_of(event->name);
    if (!kind) continue;
    EXPECT_TRUE(decoder->knows(*kind));
    for (int round = 0; round < 300; ++round) {
      std::vector<unsigned char> data = random_record(*event, rng);
      tep_record record = record_of(data);
      const std::string text = printed(*tep_, record);
      Event expected;
      expected.kind = *kind;
      expected.cpu = 3;
      expected.time_ns = record.ts;
      expected.pid = static_cast<std::uint32_t>(tep_data_pid(tep_.get(), &record));
      ++tried;
      const BodyContext before = context;
      if (!parse_body(LineCursor(text), expected, context)) {
        context = before;
        continue;
      }
      ++compared;
      Event out;
      // Only records whose text can be parsed are decoded, so the counts of both sides are
      // comparable.
      ASSERT_EQ(decoder->decode(record, out), Outcome::event) << decoder->problem() << "\n" << text;
      ASSERT_EQ(out, expected) << text;
      ASSERT_EQ(decoder->context().unknown_flags, context.unknown_flags) << text;
      ASSERT_EQ(decoder->context().unknown_fields, context.unknown_fields) << text;
      ASSERT_EQ(decoder->context().unknown_criteria, context.unknown_criteria) << text;
      ASSERT_EQ(decoder->generation(), context.criterion.generation());
      ASSERT_EQ(decoder->context().criterion.guessed(), context.criterion.guessed());
      ASSERT_EQ(decoder->context().criterion.misread(), context.criterion.misread());
    }
  }
  EXPECT_GT(compared, tried / 2);
}

TEST_P(Kernels, FormatsAreReadAsTheLibraryReadsThem) {
  ASSERT_NE(tep_, nullptr);
  int compared = 0;
  for (const std::string& text : test::formats_of(path())) {
    const auto ours = parse_event_format(text, text.starts_with("name: jbd2") ? "jbd2" : "ext4");
    ASSERT_TRUE(ours) << text;
    const tep_event* theirs = tep_find_event(tep_.get(), static_cast<int>(ours->id));
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(*ours, event_format(*theirs)) << text;
    ++compared;
  }
  EXPECT_GT(compared, 28);
}

TEST_P(Kernels, NoRecordIsReadBeyondItsEnd) {
  ASSERT_NE(tep_, nullptr);
  auto decoder = RecordDecoder::create(*tep_);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  Rng rng(7);
  for (int i = 0; i < tep_get_events_count(tep_.get()); ++i) {
    const tep_event* event = tep_get_event(tep_.get(), i);
    if (!kind_of(event->name)) continue;
    const std::vector<unsigned char> whole = random_record(*event, rng);
    std::size_t shortest = whole.size();
    for (std::size_t size = whole.size() + 1; size-- > 0;) {
      std::vector<unsigned char> data(whole.begin(), whole.begin() + static_cast<long>(size));
      data.shrink_to_fit();  // so that sanitizers detect a read past the end
      Event out;
      if (decoder->decode(record_of(data), out) == Outcome::event) shortest = size;
    }
    std::size_t end = 0;
    for (const auto* f = event->format.fields; f != nullptr; f = f->next)
      end = std::max(end, static_cast<std::size_t>(f->offset + f->size));
    EXPECT_LE(shortest, end) << event->name;
    EXPECT_GE(shortest + 8, end) << event->name;
  }
}

TEST_P(Kernels, HaveWhatARecordingWants) {
  ASSERT_NE(tep_, nullptr);
  const auto decoder = RecordDecoder::create(*tep_);
  ASSERT_TRUE(decoder.ok());
  for (const Purpose purpose : {Purpose::allocator, Purpose::shrinker})
    for (const WantedEvent& w : wanted_events(purpose))
      EXPECT_TRUE(!w.essential || decoder->knows(w.kind)) << event_name(w.kind);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Values("6.1", "6.1-series", "6.12", "6.18", "7.3-trace-inputs"),
                         [](const testing::TestParamInfo<const char*>& kernel) {
                           std::string name = kernel.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '.' || c == '-'; }, '_');
                           return name;
                         });

// Returns a format that no kernel has, with the given event name, fields and print format.
std::string format(const std::string& name, const std::string& fields, const std::string& print) {
  return "name: " + name +
         "\nID: 77\nformat:\n"
         "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
         "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
         fields + "\nprint fmt: " + print + "\n";
}
std::string field_line(const std::string& name, int offset, int size) {
  return "\tfield:unsigned int " + name + ";\toffset:" + std::to_string(offset) +
         ";\tsize:" + std::to_string(size) + ";\tsigned:0;\n";
}
Result<RecordDecoder> decoder_for(tep_handle& tep, const std::string& text, const char* system,
                                  Generation declared = Generation::unknown) {
  test::add_format(tep, text, system);
  return RecordDecoder::create(tep, declared);
}

std::string load_format(const std::string& fields) {
  return format("ext4_mb_bitmap_load", fields, "\"group %u\", REC->group");
}

TEST(Records, WithoutAFieldAreRefusedAtOnce) {
  const Tep tep = test::new_tep();
  const auto decoder = decoder_for(*tep, load_format(field_line("group", 12, 4)), "ext4");
  ASSERT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.error().message, "the format of ext4_mb_bitmap_load has no field dev");
}

TEST(Records, WithAFieldThatIsNoNumberAreRefusedAtOnce) {
  const Tep tep = test::new_tep();
  const auto decoder =
      decoder_for(*tep, load_format(field_line("dev", 8, 4) + field_line("group", 12, 3)), "ext4");
  ASSERT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.error().message,
            "the format of ext4_mb_bitmap_load has field group at byte 12, 3 long");
}

TEST(Records, OfSomebodyElsesEventOfThatNameAreOthers) {
  const Tep tep = test::new_tep();
  auto decoder = decoder_for(*tep, load_format(field_line("dev", 8, 4)), "kprobes");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  std::vector<unsigned char> data(16);
  data[0] = 77;
  Event out;
  EXPECT_EQ(decoder->decode(record_of(data), out), Outcome::other);
  EXPECT_EQ(decoder->other_name(), "ext4_mb_bitmap_load");
  data[0] = 78;
  EXPECT_EQ(decoder->decode(record_of(data), out), Outcome::other);
  EXPECT_EQ(decoder->other_name(), "");
  EXPECT_FALSE(decoder->knows(EventKind::bitmap_load));
}

TEST(Records, OfAnotherByteOrderAreRead) {
  const Tep tep = test::new_tep();
  tep_set_file_bigendian(tep.get(), TEP_BIG_ENDIAN);
  auto decoder =
      decoder_for(*tep, load_format(field_line("dev", 8, 4) + field_line("group", 12, 4)), "ext4");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  std::vector<unsigned char> data = {0, 77, 0, 0, 0, 0, 1, 2, 0, 0x80, 0, 1, 0, 0, 3, 4};
  Event out;
  ASSERT_EQ(decoder->decode(record_of(data), out), Outcome::event);
  EXPECT_EQ(out.dev, make_dev(8, 1));
  EXPECT_EQ(out.group, 0x304u);
  EXPECT_EQ(out.pid, 0x102u);
}

TEST(Records, OfACpuThatIsNoneAreMalformed) {
  const Tep tep = test::new_tep();
  auto decoder =
      decoder_for(*tep, load_format(field_line("dev", 8, 4) + field_line("group", 12, 4)), "ext4");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  std::vector<unsigned char> data(16);
  data[0] = 77;
  Event out;
  EXPECT_EQ(decoder->decode(record_of(data, -1), out), Outcome::malformed);
  EXPECT_EQ(decoder->problem(),
            "malformed ext4_mb_bitmap_load event: its CPU number is impossible");
}

// The decoder matches flags by name, because a kernel may use other bits for them.
TEST(Records, HaveFlagsByTheirNames) {
  const Tep tep = test::new_tep();
  auto decoder =
      decoder_for(*tep,
                  format("ext4_free_blocks",
                         field_line("dev", 8, 4) + field_line("ino", 12, 4) +
                             field_line("mode", 16, 2) + field_line("block", 20, 4) +
                             field_line("count", 24, 4) + field_line("flags", 28, 4),
                         "\"%s\", __print_flags(REC->flags, \"|\", { 0x1, \"METADATA\" }, { 0x100, "
                         "\"VALIDATED\" }, { 0x200, \"NEWER\" })"),
                  "ext4");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  std::vector<unsigned char> data(32);
  data[0] = 77;
  data[28] = 0x11;
  data[29] = 0x03;
  Event out;
  ASSERT_EQ(decoder->decode(record_of(data), out), Outcome::event);
  EXPECT_EQ(out.flags, fb::metadata | fb::validated | 0x10u);
  EXPECT_EQ(decoder->context().unknown_flags[static_cast<std::size_t>(out.kind)], 1u);
}

// Makes a decoder for an ext4_mballoc_alloc whose format prints the criterion as given.
Result<RecordDecoder> search_decoder(tep_handle& tep, const std::string& print,
                                     Generation declared = Generation::unknown) {
  std::string fields = field_line("dev", 8, 4) + field_line("ino", 12, 4);
  int at = 16;
  for (const char* extent : {"orig", "goal", "result"})
    for (const char* part : {"group", "start", "len", "logical"})
      fields += field_line(std::string(extent) + "_" + part, at, 2), at += 2;
  for (const char* name : {"found", "groups", "buddy", "flags", "tail", "cr"})
    fields += field_line(name, at, 2), at += 2;
  return decoder_for(tep, format("ext4_mballoc_alloc", fields, print), "ext4", declared);
}
mb::Criterion criterion_of(RecordDecoder& decoder, unsigned char number) {
  std::vector<unsigned char> data(64);
  data[0] = 77;
  data[16 + 2 * 17] = number;
  Event out;
  EXPECT_EQ(decoder.decode(record_of(data), out), Outcome::event);
  return out.criterion;
}

TEST(Records, HaveCriteriaByTheirNames) {
  const Tep tep = test::new_tep();
  auto decoder = search_decoder(
      *tep,
      "\"cr %s\", __print_symbolic(REC->cr, { 0, \"CR0\" }, { 2, \"CR1_5\" }, { 3, \"ODD\" })");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ(decoder->generation(), Generation::unknown);
  EXPECT_EQ(criterion_of(*decoder, 2), mb::Criterion::cr1_5);
  EXPECT_EQ(decoder->generation(), Generation::cr1_5);
  EXPECT_EQ(decoder->context().unknown_criteria, 0u);
  EXPECT_EQ(criterion_of(*decoder, 3), mb::Criterion::unknown);
  EXPECT_EQ(criterion_of(*decoder, 200), mb::Criterion::unknown);
  EXPECT_EQ(decoder->context().unknown_criteria, 2u);
}

TEST(Records, HaveCriteriaByTheOrderOfEnumerators) {
  const Tep tep = test::new_tep();
  auto decoder =
      search_decoder(*tep,
                     "\"cr %s\", __print_symbolic(REC->cr, { A, \"CR_POWER2_ALIGNED\" }, "
                     "{ B, \"CR_GOAL_LEN_FAST\" }, { C, \"CR_BEST_AVAIL_LEN\" })");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ(criterion_of(*decoder, 2), mb::Criterion::best_avail);
}

TEST(Records, HaveTheNumberBehindTheLastCriterion) {
  const Tep tep = test::new_tep();
  auto decoder = search_decoder(
      *tep,
      "\"cr %s\", __print_symbolic(REC->cr, { 0, \"CR_POWER2_ALIGNED\" }, "
      "{ 1, \"CR_GOAL_LEN_FAST\" }, { 2, \"CR_BEST_AVAIL_LEN\" }, { 3, \"CR_GOAL_LEN_SLOW\" }, "
      "{ 4, \"CR_ANY_FREE\" })");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ(criterion_of(*decoder, 5), mb::Criterion::past_last);
  EXPECT_EQ(decoder->context().unknown_criteria, 0u);
  EXPECT_EQ(criterion_of(*decoder, 6), mb::Criterion::unknown);
  EXPECT_EQ(decoder->context().unknown_criteria, 1u);
}

TEST(Records, HaveCriteriaByNumberAsInText) {
  const Tep tep = test::new_tep();
  auto decoder = search_decoder(*tep, "\"cr %u\", REC->cr");
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ(criterion_of(*decoder, 2), mb::Criterion::cr2);
  EXPECT_EQ(decoder->generation(), Generation::v6_1);
  EXPECT_TRUE(decoder->context().criterion.guessed());
  EXPECT_EQ(criterion_of(*decoder, 4), mb::Criterion::cr3);
  EXPECT_EQ(decoder->generation(), Generation::v6_5);
  EXPECT_TRUE(decoder->context().criterion.misread());
}

TEST(Records, HaveCriteriaAsDeclared) {
  const Tep tep = test::new_tep();
  auto decoder = search_decoder(*tep, "\"cr %u\", REC->cr", Generation::v6_5);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ(criterion_of(*decoder, 2), mb::Criterion::best_avail);
  EXPECT_FALSE(decoder->context().criterion.guessed());
}

TEST(Wanted, IsWhatNoObstacleIsLeftWith) {
  for (const Purpose purpose : {Purpose::allocator, Purpose::shrinker}) {
    TraceSummary summary;
    for (const WantedEvent& w : wanted_events(purpose))
      if (w.essential) summary.by_kind[static_cast<std::size_t>(w.kind)] = 1;
    EXPECT_EQ(ExactnessCheck().obstacles(summary), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace e4r::trace
