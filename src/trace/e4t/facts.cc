// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/e4t/facts.h"

#include <algorithm>
#include <array>
#include <string>

#include "trace/e4t/varint.h"
#include "trace/text/body.h"

namespace e4r::trace::e4t {
namespace {

// A fact is a number and a value. The value of an even fact is a number; that of an odd fact is a
// length and that many bytes.
enum Fact : std::uint64_t {
  kBlocks = 0,
  kEvents = 2,
  kChain = 4,
  kRecordedAs = 6,
  kGeneration = 8,
  kGuessed = 10,
  kInBuffer = 12,
  kWritten = 14,
  kOverwritten = 16,
  kLines = 18,
  kUnknownFlags = 20,
  kUnnamedCriteria = 22,  // in older files: unknown or mb::Criterion::past_last
  kUnknownFields = 24,
  kSkippedLines = 26,
  kUnknownCount = 28,  // the count of the kUnknownEvent that follows it
  kUnknownEvent = 29,
  kWarning = 31,
  kKernel = 33,
  kClock = 35,
  kUnknownCriteria = 36,
  kOlderThan = 38,
  kDamaged = 40,
  kWithoutCpu = 42,
  kCountOfKind = 44,  // the count for the event that the next text names
  kMalformed = 45,
  kUnknownFlagsOf = 47,
  kUnknownFieldsOf = 49,
};

class FactWriter {
 public:
  void number(Fact fact, std::uint64_t value) {
    if (value == 0) return;
    put(fact);
    put(value);
  }
  void text(Fact fact, std::string_view value) {
    put(fact);
    put(value.size());
    out_.insert(out_.end(), value.begin(), value.end());
  }
  // Uses event names, which stay when kinds are renumbered.
  void counts(Fact fact, const KindCounts& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      number(kCountOfKind, counts[i]);
      text(fact, event_name(static_cast<EventKind>(i)));
    }
  }
  std::vector<std::uint8_t> take() { return std::move(out_); }

 private:
  void put(std::uint64_t value) {
    std::array<std::uint8_t, kMaxVarint> buffer;
    out_.insert(out_.end(), buffer.data(), put_varint(buffer.data(), value));
  }
  std::vector<std::uint8_t> out_;
};

void set_count(KindCounts& counts, std::string_view event, std::uint64_t count) {
  if (const auto kind = kind_of(event)) counts[static_cast<std::size_t>(*kind)] = count;
}

template <class E>
E enum_of(std::uint64_t value, E last) {
  return value <= static_cast<std::uint64_t>(last) ? static_cast<E>(value) : E{};
}

void set_number(std::uint64_t fact, std::uint64_t value, Totals& totals, TraceSummary& s) {
  switch (fact) {
    case kBlocks:
      totals.blocks = value;
      break;
    case kEvents:
      totals.events = value;
      break;
    case kChain:
      totals.chain = static_cast<std::uint32_t>(value);
      break;
    case kRecordedAs:
      s.recorded_as = enum_of(value, Format::trace_dat);
      break;
    case kGeneration:
      s.generation = enum_of(value, Generation::v6_5);
      break;
    case kGuessed:
      s.generation_guessed = value != 0;
      break;
    case kInBuffer:
      s.entries_in_buffer = value;
      break;
    case kWritten:
      s.entries_written = value;
      break;
    case kOverwritten:
      s.overwritten = value;
      break;
    case kLines:
      s.lines = value;
      break;
    case kUnknownFlags:
      s.unknown_flags = value;
      break;
    case kUnnamedCriteria:
      // kGeneration has been read before. On 6.5 kernels the criterion that older writers could not
      // name is past_last, which is known now.
      if (s.generation != Generation::v6_5) s.unknown_criteria = value;
      break;
    case kUnknownCriteria:
      s.unknown_criteria = value;
      break;
    case kUnknownFields:
      s.unknown_fields = value;
      break;
    case kSkippedLines:
      s.skipped_lines = value;
      break;
    case kOlderThan:
      s.older_than = enum_of(value, OlderThan::v4_0);
      break;
    case kDamaged:
      s.damaged = value;
      break;
    case kWithoutCpu:
      s.without_cpu = value;
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<std::uint8_t> encode_facts(const Totals& totals, const TraceSummary& s) {
  FactWriter w;
  w.number(kBlocks, totals.blocks);
  w.number(kEvents, totals.events);
  w.number(kChain, totals.chain);
  w.number(kRecordedAs, static_cast<std::uint64_t>(s.recorded_as));
  w.number(kGeneration, static_cast<std::uint64_t>(s.generation));
  w.number(kGuessed, s.generation_guessed ? 1 : 0);
  w.number(kInBuffer, s.entries_in_buffer);
  w.number(kWritten, s.entries_written);
  w.number(kOverwritten, s.overwritten);
  w.number(kLines, s.lines);
  w.number(kUnknownFlags, s.unknown_flags);
  w.number(kUnknownCriteria, s.unknown_criteria);
  w.number(kUnknownFields, s.unknown_fields);
  w.number(kSkippedLines, s.skipped_lines);
  w.number(kOlderThan, static_cast<std::uint64_t>(s.older_than));
  w.number(kDamaged, s.damaged);
  w.number(kWithoutCpu, s.without_cpu);
  w.counts(kMalformed, s.malformed);
  w.counts(kUnknownFlagsOf, s.unknown_flags_of);
  w.counts(kUnknownFieldsOf, s.unknown_fields_of);
  for (const NameCount& unknown : s.unknown_events) {
    w.number(kUnknownCount, unknown.count);
    w.text(kUnknownEvent, unknown.name);
  }
  for (const std::string& warning : s.warnings) w.text(kWarning, warning);
  if (!s.kernel.empty()) w.text(kKernel, s.kernel);
  if (!s.clock.empty()) w.text(kClock, s.clock);
  return w.take();
}

bool decode_facts(std::span<const std::uint8_t> payload, Totals& totals, TraceSummary& s) {
  // Copies the payload with room after it, since the last number may be truncated.
  std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
  bytes.resize(bytes.size() + std::size_t{3} * kMaxVarint);
  const std::uint8_t* p = bytes.data();
  const std::uint8_t* end = p + payload.size();
  std::uint64_t count = 0;
  while (p < end) {
    const std::uint64_t fact = get_varint(p);
    const std::uint64_t value = get_varint(p);
    if (p > end) return false;
    if (fact % 2 == 0) {
      set_number(fact, value, totals, s);
      if (fact == kUnknownCount || fact == kCountOfKind) count = value;
      continue;
    }
    if (value > static_cast<std::uint64_t>(end - p)) return false;
    std::string text(p, p + value);
    p += value;
    switch (fact) {
      case kMalformed:
        set_count(s.malformed, text, count);
        break;
      case kUnknownFlagsOf:
        set_count(s.unknown_flags_of, text, count);
        break;
      case kUnknownFieldsOf:
        set_count(s.unknown_fields_of, text, count);
        break;
      case kUnknownEvent:
        s.unknown_events.push_back({std::move(text), count});
        break;
      case kWarning:
        s.warnings.push_back(std::move(text));
        break;
      case kKernel:
        s.kernel = std::move(text);
        break;
      case kClock:
        s.clock = std::move(text);
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace e4r::trace::e4t
