// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/e4t/file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "trace/bytes.h"
#include "trace/e4t/block.h"
#include "trace/text/body.h"
#include "util/bytes.h"

namespace e4r::trace::e4t {
namespace {

// A file is a header followed by frames: blocks ('B') and one end frame ('E'). The head of a frame
// holds its type, the generation, two zero bytes, the payload's size in bytes, the number of
// events, and the checksum.
constexpr std::size_t kHeaderBytes = 12;  // magic, version, two zero bytes
constexpr std::size_t kMaxEndBytes = 1 << 20;

std::string_view text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the file in pieces of known size. Copies each piece into a buffer with spare room after it.
class Pieces {
 public:
  explicit Pieces(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}

  // Returns the next `size` bytes, or fewer at the end of the file; valid until the next call.
  Result<std::span<const std::uint8_t>> take(std::size_t size) {
    if (buffer_.size() < size + kMaxEventBytes) buffer_.resize(size + kMaxEventBytes);
    std::size_t have = 0;
    while (have < size) {
      if (rest_.empty()) {
        E4R_TRY(rest_, bytes_->next());
        if (rest_.empty()) break;
      }
      const std::size_t part = std::min(size - have, rest_.size());
      std::memcpy(buffer_.data() + have, rest_.data(), part);
      rest_.remove_prefix(part);
      have += part;
    }
    offset_ += have;
    return std::span<const std::uint8_t>(buffer_.data(), have);
  }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::string warning() const { return bytes_->warning(); }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string_view rest_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t offset_ = 0;
};

struct Frame {
  char type = 0;
  Generation generation = Generation::unknown;
  std::uint32_t size = 0, events = 0, sum = 0;
  std::array<std::uint8_t, kFrameBytes> bytes;
};

class E4tTrace final : public Trace {
 public:
  E4tTrace(std::unique_ptr<ByteSource> bytes, std::string name, const ReadOptions& options)
      : Trace(std::move(name)), pieces_(std::move(bytes)), options_(options), batch_(kBatchEvents) {
    summary_.format = Format::e4t;
  }

  Result<std::span<const Event>> next() override {
    std::size_t filled = 0;
    while (filled == 0 && !ended_) {
      const Result<std::size_t> got = block_.read(batch_);
      if (!got.ok()) {
        E4R_CHECK(damage("at byte {}: a block holds invalid events", block_offset_));
        block_ = {};
        continue;
      }
      if (*got == 0) {
        E4R_CHECK(next_frame());
        continue;
      }
      filled = keep_wanted(*got);
    }
    return std::span<const Event>(batch_.data(), filled);
  }

  // Returns false if some events may have to be left out, because packed blocks are passed on
  // whole.
  bool keep_packed(PackedBlocks& store) override {
    if (options_.lenient || options_.device) return false;
    store_ = &store;
    return true;
  }

 private:
  // Counts the batch's events and moves the wanted ones to the front.
  std::size_t keep_wanted(std::size_t count) {
    totals_.events += count;
    const std::uint32_t* only = options_.device ? &*options_.device : nullptr;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!summary_.add(batch_[i], only)) continue;
      if (kept != i) batch_[kept] = batch_[i];
      ++kept;
    }
    return kept;
  }

  template <class... Args>
  Status damage(fmt::format_string<Args...> format, Args&&... args) {
    return Trace::damage(options_.lenient, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  Status last_damage(fmt::format_string<Args...> format, Args&&... args) {
    ended_ = true;
    return damage(format, std::forward<Args>(args)...);
  }

  Status read_header() {
    E4R_TRY(const auto head, pieces_.take(kHeaderBytes));
    started_ = true;
    if (head.size() < kHeaderBytes) return last_damage("the file ends within its header");
    if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0)
      return error("{}: is not an .e4t file", name());
    const unsigned version = head[8] | head[9] << 8;
    if (version != kVersion)
      return error("{}: is .e4t version {}, but this program reads version {}", name(), version,
                   kVersion);
    return {};
  }

  Status next_frame() {
    if (!started_) return read_header();
    block_offset_ = pieces_.offset();
    Frame f;
    E4R_TRY(const auto head, pieces_.take(kFrameBytes));
    if (head.size() < kFrameBytes)
      return last_damage("the file ends at byte {} without an end mark: it is truncated",
                         pieces_.offset());
    std::memcpy(f.bytes.data(), head.data(), kFrameBytes);
    f.type = static_cast<char>(f.bytes[0]);
    if (f.bytes[1] <= static_cast<int>(Generation::v6_5))
      f.generation = static_cast<Generation>(f.bytes[1]);
    f.size = get_le<std::uint32_t>(&f.bytes[4]);
    f.events = get_le<std::uint32_t>(&f.bytes[8]);
    f.sum = get_le<std::uint32_t>(&f.bytes[12]);
    if (f.type == 'B' && f.size <= kMaxBlockBytes && f.events <= kBlockEvents) return read_block(f);
    if (f.type == 'E' && f.size <= kMaxEndBytes) return read_end(f);
    return last_damage("at byte {}: not a frame of .e4t", block_offset_);
  }

  Status read_block(const Frame& f) {
    E4R_TRY(const auto payload, pieces_.take(f.size));
    if (payload.size() < f.size)
      return last_damage("the file ends at byte {} within a block: it is truncated",
                         pieces_.offset());
    ++totals_.blocks;
    totals_.chain = extend_chain(totals_.chain, f.sum);
    if (frame_sum(text(f.bytes), text(payload)) != f.sum)
      return damage("at byte {}: a block's checksum is wrong", block_offset_);
    block_ = BlockDecoder(payload, f.events);
    if (store_ != nullptr) store_->add_packed(payload, f.events);
    summary_.generation = f.generation;
    return {};
  }

  Status read_end(const Frame& f) {
    E4R_TRY(const auto payload, pieces_.take(f.size));
    ended_ = true;
    Totals stored;
    if (payload.size() < f.size || frame_sum(text(f.bytes), text(payload)) != f.sum ||
        !decode_facts(payload, stored, summary_))
      return damage("at byte {}: the end mark is damaged", block_offset_);
    if (stored != totals_)
      return damage("holds {} events where its end mark says {}: blocks are missing or damaged",
                    totals_.events, stored.events);
    E4R_TRY(const auto behind, pieces_.take(1));
    if (!behind.empty()) return damage("at byte {}: data after the end", pieces_.offset() - 1);
    if (std::string warning = pieces_.warning(); !warning.empty()) {
      summary_.warnings.push_back(std::move(warning));
      ++summary_.damaged;
    }
    return {};
  }

  Pieces pieces_;
  ReadOptions options_;
  std::vector<Event> batch_;
  BlockDecoder block_;
  Totals totals_;
  PackedBlocks* store_ = nullptr;
  std::uint64_t block_offset_ = 0;
  bool started_ = false, ended_ = false;
};

}  // namespace

void Writer::begin() {
  out_ += kMagic;
  out_ += static_cast<char>(kVersion & 0xff);
  out_ += static_cast<char>(kVersion >> 8);
  out_.append(2, '\0');
}

void Writer::add(std::span<const Event> events, Generation generation) {
  generation_ = generation;
  for (const Event& e : events) {
    if (block_.full()) write_block();
    block_.add(e);
  }
}

void Writer::flush() {
  if (!block_.empty()) write_block();
}

void Writer::finish(const TraceSummary& summary) {
  flush();
  write_frame('E', encode_facts({blocks_, events_, chain_}, summary), 0);
}

void Writer::write_block() {
  ++blocks_;
  events_ += block_.events();
  write_frame('B', block_.payload(), block_.events());
  block_.clear();
}

void Writer::write_frame(char type, std::span<const std::uint8_t> payload, std::uint32_t events) {
  std::array<std::uint8_t, kFrameBytes> head = {static_cast<std::uint8_t>(type),
                                                static_cast<std::uint8_t>(generation_)};
  put_le(&head[4], static_cast<std::uint32_t>(payload.size()));
  put_le(&head[8], events);
  const std::uint32_t sum = frame_sum(text(head), text(payload));
  put_le(&head[12], sum);
  if (type == 'B') chain_ = extend_chain(chain_, sum);
  out_ += text(head);
  out_ += text(payload);
}

std::unique_ptr<Trace> e4t_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                 const ReadOptions& options) {
  return std::make_unique<E4tTrace>(std::move(bytes), std::move(name), options);
}

class PackedBlocks::Reader final : public EventSource {
 public:
  explicit Reader(std::shared_ptr<const PackedBlocks> store)
      : store_(std::move(store)), batch_(kBatchEvents) {}

  Result<std::span<const Event>> next() override {
    for (;;) {
      E4R_TRY(const std::size_t got, block_.read(batch_));
      if (got > 0) return std::span<const Event>(batch_.data(), got);
      if (next_ == store_->blocks_.size()) return std::span<const Event>();
      const Block& b = store_->blocks_[next_++];
      block_ = BlockDecoder({store_->bytes_.data() + b.offset, b.size}, b.events);
    }
  }

 private:
  std::shared_ptr<const PackedBlocks> store_;
  std::vector<Event> batch_;
  BlockDecoder block_;
  std::size_t next_ = 0;
};

void PackedBlocks::add(std::span<const Event> events) {
  for (const Event& e : events) {
    if (encoder_.full()) seal();
    encoder_.add(e);
  }
}

void PackedBlocks::finish() {
  if (!encoder_.empty()) seal();
  bytes_.resize(bytes_.size() + kMaxEventBytes);  // BlockDecoder reads ahead
  bytes_.shrink_to_fit();
}

void PackedBlocks::seal() {
  add_packed(encoder_.payload(), encoder_.events());
  encoder_.clear();
}

void PackedBlocks::add_packed(std::span<const std::uint8_t> payload, std::uint32_t events) {
  blocks_.push_back({bytes_.size(), static_cast<std::uint32_t>(payload.size()), events});
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

std::unique_ptr<EventSource> PackedBlocks::read(std::shared_ptr<const PackedBlocks> store) {
  return std::make_unique<Reader>(std::move(store));
}

namespace {

// A fact is a varint that identifies it, and a value. The value of an even fact is a number; the
// value of an odd fact is a length followed by that many bytes.
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
  kUnnamedCriteria = 22,  // in older files, it includes mb::Criterion::past_last
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
  kCountOfKind = 44,  // the count for the event that the next string names
  kMalformed = 45,
  kUnknownFlagsOf = 47,
  kUnknownFieldsOf = 49,
  kOfLdiskfs = 50,
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
  // Stores event names, which stay the same if kinds are renumbered.
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
      // kGeneration has already been read. On 6.5 kernels, the criterion that older writers could
      // not name is past_last, which is known now.
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
    case kOfLdiskfs:
      s.of_ldiskfs = value != 0;
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
  if (s.of_ldiskfs) w.number(kOfLdiskfs, 1);
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
  // Copies the payload with spare room after it, since the last number may be truncated.
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
