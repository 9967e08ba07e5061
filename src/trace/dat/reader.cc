// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/readers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "trace/dat/pages.h"
#include "trace/tep/decoder.h"

namespace e4r::trace::dat {
namespace {

// The limit on unpacked bytes of all CPUs together. It is several hundred times as much as
// trace-cmd's chunks need.
constexpr std::size_t kMaxHeld = std::size_t{1} << 29;

// Whether the release is 6.5 or later. Such kernels have five criteria; 6.5 and 6.6 print them as
// digits.
bool has_five_rungs(std::string_view release) {
  unsigned major = 0, minor = 0;
  const char* end = release.data() + release.size();
  const auto [dot, ec] = std::from_chars(release.data(), end, major);
  if (ec != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  return std::pair(major, minor) >= std::pair(6U, 5U);
}

class DatTrace final : public Trace {
 public:
  DatTrace(std::unique_ptr<ByteSource> bytes, std::string name, const ReadOptions& options)
      : Trace(std::move(name)), bytes_(std::move(bytes)), options_(options), batch_(kBatchEvents) {
    summary_.format = summary_.recorded_as = Format::trace_dat;
  }

  Status open() {
    file_ = bytes_->whole();
    auto header = read_dat_header(file_, options_.lenient, summary_.warnings);
    if (!header.ok()) return name_error(header.error());
    header_ = *std::move(header);
    Generation declared = options_.generation;
    if (declared == Generation::unknown && has_five_rungs(header_.release))
      declared = Generation::v6_5;
    auto decoder = RecordDecoder::create(header_.formats, header_.big_endian, declared,
                                         options_.lenient ? KindSet::none() : options_.needed);
    if (!decoder.ok()) {
      const bool passable =
          RecordDecoder::create(header_.formats, header_.big_endian, declared, KindSet::none())
              .ok();
      return error("{}: {}{}", name(), decoder.error().message,
                   passable ? "; --lenient skips such events" : "");
    }
    decoder_.emplace(*std::move(decoder));
    E4R_CHECK(choose_buffers());
    summary_.kernel = header_.release;
    if (std::string warning = bytes_->warning(); !warning.empty()) {
      summary_.warnings.push_back(std::move(warning));
      ++summary_.damaged;
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) E4R_CHECK(advance(i));
    return {};
  }

  Result<std::span<const Event>> next() override {
    std::size_t filled = 0;
    while (filled + 2 <= kBatchEvents && !queue_.empty()) {
      const std::size_t lane = queue_.top().second;
      queue_.pop();
      E4R_CHECK(take(lanes_[lane], filled));
      E4R_CHECK(advance(lane));
    }
    if (queue_.empty()) end();
    report_bodies(decoder_->context(), summary_);
    return std::span<const Event>(batch_.data(), filled);
  }

 private:
  // The records of one CPU in one buffer. `record` is the next one to deliver.
  struct Lane {
    CpuRecords records;
    std::size_t buffer = 0;
    BufferRecord record = {};
    std::uint64_t time_ns = 0;
    std::size_t held = 0;
  };
  using Turn = std::pair<std::uint64_t, std::size_t>;  // time, lane

  Error name_error(const Error& e) const { return error("{}: {}", name(), e.message); }

  Status choose_buffers() {
    std::string names;
    for (const Buffer& b : header_.buffers) {
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", b.name);
      if (options_.buffer && *options_.buffer != b.name) continue;
      summary_.clock = b.clock;
      for (const CpuPart& part : b.cpus)
        if (part.size > 0)
          lanes_.push_back({CpuRecords(file_, header_.big_endian, header_.page, b, part), chosen_});
      chosen_names_.push_back(b.name);
      ++chosen_;
    }
    kinds_.resize(std::max<std::size_t>(chosen_, 1));
    if (chosen_ == 0 && options_.buffer)
      return error("{}: has no buffer '{}', only {}", name(), *options_.buffer, names);
    return {};
  }

  // Queues a lane's next record. If lenient, skips damaged pages and chunks.
  Status advance(std::size_t index) {
    Lane& lane = lanes_[index];
    for (;;) {
      const auto record = lane.records.next();
      held_ += lane.records.held() - std::exchange(lane.held, lane.records.held());
      if (held_ > kMaxHeld) return error("{}: claims more data at a time than memory has", name());
      if (!record.ok()) {
        E4R_CHECK(damage(options_.lenient, record.error().message));
        continue;
      }
      if (!*record) return {};
      lane.record = **record;
      lane.time_ns = header_.time.apply(lane.record.stamp);
      queue_.emplace(lane.time_ns, index);
      return {};
    }
  }

  // Adds a lane's record to the batch as an event, with a lost_events marker before it if events
  // were lost.
  Status take(const Lane& lane, std::size_t& filled) {
    if (lane.record.lost) {
      Event lost;
      lost.cpu = static_cast<std::uint16_t>(lane.records.cpu());
      lost.count = *lane.record.lost;
      lost.time_ns = last_time_;
      deliver(lost, filled);
    }
    const RawRecord raw = {static_cast<int>(lane.records.cpu()), lane.time_ns, lane.record.data};
    Event& event = batch_[filled];
    switch (decoder_->decode(raw, event)) {
      case RecordDecoder::Outcome::other:
        summary_.add_unknown(decoder_->other_name().empty() ? "(no format)"
                                                            : decoder_->other_name());
        return {};
      case RecordDecoder::Outcome::malformed:
        return report_malformed();
      case RecordDecoder::Outcome::event:
        break;
    }
    last_time_ = event.time_ns;
    kinds_[lane.buffer] |= std::uint64_t{1} << static_cast<unsigned>(event.kind);
    if (event.kind == EventKind::mballoc_alloc)
      E4R_CHECK(note_misread(decoder_->context(), options_, name(), summary_));
    deliver(event, filled);
    return {};
  }
  // Handles a record that cannot be decoded. A malformed event that is not needed never ends the
  // reading.
  Status report_malformed() {
    const auto kind = decoder_->malformed_kind();
    if (!kind) return damage(options_.lenient, decoder_->problem());
    if (!options_.lenient && options_.needed.contains(*kind))
      return error("{}: {}; --lenient skips what cannot be read", name(), decoder_->problem());
    summary_.add_malformed(*kind);
    return {};
  }
  void deliver(const Event& event, std::size_t& filled) {
    batch_[filled] = event;
    filled += summary_.add(event, options_.device ? &*options_.device : nullptr);
  }

  // Warns if two buffers recorded the same events, which would then be replayed twice.
  void look_for_doubles() {
    for (std::size_t a = 0; a < chosen_; ++a)
      for (std::size_t b = a + 1; b < chosen_; ++b) {
        const std::uint64_t both = kinds_[a] & kinds_[b];
        if (both == 0) continue;
        summary_.warnings.push_back(
            fmt::format("{}: buffers '{}' and '{}' both have {}: choose one with --buffer", name(),
                        chosen_names_[a], chosen_names_[b],
                        event_name(static_cast<EventKind>(std::countr_zero(both)))));
        return;
      }
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    look_for_doubles();
    // The kernel's count includes the losses that are also reported by markers between records.
    if (chosen_ == header_.buffers.size() && header_.overwritten > summary_.lost_events)
      summary_.overwritten = header_.overwritten - summary_.lost_events;
  }

  std::unique_ptr<ByteSource> bytes_;
  std::string_view file_;
  ReadOptions options_;
  std::vector<Event> batch_;
  DatHeader header_;
  std::optional<RecordDecoder> decoder_;
  std::vector<Lane> lanes_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> queue_;
  std::size_t chosen_ = 0;
  std::vector<std::string> chosen_names_;
  std::vector<std::uint64_t> kinds_;  // for each buffer: one bit per kind
  std::size_t held_ = 0;
  std::uint64_t last_time_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Trace>> dat_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                         const ReadOptions& options) {
  E4R_TRY(bytes, in_one_piece(std::move(bytes), name));
  auto trace = std::make_unique<DatTrace>(std::move(bytes), std::move(name), options);
  E4R_CHECK(trace->open());
  return std::unique_ptr<Trace>(std::move(trace));
}

}  // namespace e4r::trace::dat
