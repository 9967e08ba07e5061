// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/flight.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "capture/capture.h"
#include "capture/image_parts.h"
#include "image/bitmaps.h"
#include "trace/summary.h"
#include "trace/writer.h"
#include "util/units.h"

namespace e4r::watch {
namespace {

using trace::Event;

constexpr int kLevel = 1;  // a fast compression level

std::size_t words_of(const Geometry& geometry) {
  return (geometry.clusters_per_group + 63) / 64;
}

// Keeps the bitmaps that have changed since the start image.
void keep_words(const state::FsState& state, FlightRecorder::Moment& out) {
  std::vector<std::uint64_t> all, words;
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    const state::Group& group = state.group(number);
    if (!group.own || group.corrupt) continue;
    state.settled_words(number, words);
    all.insert(all.end(), words.begin(), words.end());
    out.groups.push_back(number);
  }
  const std::size_t size = all.size() * sizeof(std::uint64_t);
  out.words.resize(ZSTD_compressBound(size));
  const std::size_t packed =
      ZSTD_compress(out.words.data(), out.words.size(), all.data(), size, kLevel);
  out.words.resize(ZSTD_isError(packed) != 0 ? 0 : packed);
  out.words.shrink_to_fit();
}

Result<std::vector<std::uint64_t>> unpack_words(const FlightRecorder::Moment& moment,
                                                std::size_t count) {
  std::vector<std::uint64_t> out(count);
  const std::size_t size = count * sizeof(std::uint64_t);
  const std::size_t got =
      ZSTD_decompress(out.data(), size, moment.words.data(), moment.words.size());
  if (ZSTD_isError(got) != 0 || got != size)
    return error("the bitmaps of a checkpoint cannot be unpacked");
  return out;
}

}  // namespace

std::uint64_t FlightRecorder::Moment::bytes() const {
  constexpr std::uint64_t kPrealloc = 128, kListed = 8;
  std::uint64_t listed = 0;
  for (const auto& list : state.largest) listed += list.size();
  for (const auto& list : state.average) listed += list.size();
  return words.size() + groups.size() * sizeof(std::uint32_t) + listed * kListed +
         state.preallocs.size() * kPrealloc +
         state.freed.size() * (sizeof(replay::Checkpoint::Freed) + 2 * sizeof(state::ShapeNode)) +
         state.files.size() * sizeof(replay::Checkpoint::File);
}

Status FlightRecorder::Kept::for_each(
    const std::function<Status(std::span<const Event> events)>& each) const {
  std::vector<Event> events;
  for (const auto& block : blocks) {
    E4R_CHECK(unpack_events(*block, events));
    const std::uint64_t before = from->event > block->first ? from->event - block->first : 0;
    if (before >= events.size()) continue;
    E4R_CHECK(each(std::span<const Event>(events).subspan(before)));
  }
  return tail.empty() ? Status() : each(tail);
}

void FlightRecorder::see(std::span<const Event> events) {
  const bool due = is_due();
  const std::lock_guard lock(mutex_);
  for (const Event& event : events) {
    ++events_;
    if (quiet_.see(event) && due && !candidate_)
      candidate_ = Candidate{events_, quiet_.freeing_data()};
  }
  if (!events.empty()) last_ns_ = events.back().time_ns;
  tail_.insert(tail_.end(), events.begin(), events.end());
  if (tail_.size() < EventBlock::kMost) return;
  pack_events(tail_, events_ - tail_.size(), [this](EventBlock block) {
    block_bytes_ += block.bytes.size();
    packed_bytes_ += block.bytes.size();
    blocks_.push_back(std::make_shared<EventBlock>(std::move(block)));
  });
  tail_.clear();
  drop_old();
}

// The oldest checkpoint is dropped once the next one reaches back far enough. So up to one interval
// between checkpoints is kept in addition to the requested time.
bool FlightRecorder::is_due() const {
  const std::lock_guard lock(mutex_);
  if (moments_.empty()) return true;
  return (limits_.time_ns != 0 && last_ns_ >= moments_.back()->time_ns + limits_.time_ns / 2) ||
         packed_bytes_ - moment_at_bytes_ >= limits_.bytes / 4;
}

// A checkpoint is taken when the first operation of a later event comes, because by then all
// operations of the events that precede the checkpoint have taken effect.
void FlightRecorder::before(const replay::Op& op, replay::OrderSearch& run) {
  if (!candidate_ || op.ordinal <= candidate_->event) return;
  const Candidate from = *std::exchange(candidate_, std::nullopt);
  auto state = replay::Checkpoint::take(run, from.freeing_data);
  if (!state.ok()) return;
  auto moment = std::make_shared<Moment>();
  moment->event = from.event;
  moment->time_ns = op.time_ns;
  moment->state = *std::move(state);
  keep_words(run.state(), *moment);
  add(std::move(moment));
}

void FlightRecorder::add(std::shared_ptr<const Moment> moment) {
  const std::lock_guard lock(mutex_);
  moments_.push_back(std::move(moment));
  moment_at_bytes_ = packed_bytes_;
  drop_old();
}

std::uint64_t FlightRecorder::bytes() const {
  std::uint64_t out = block_bytes_ + tail_.size() * sizeof(Event);
  for (const auto& moment : moments_) out += moment->bytes();
  return out;
}

void FlightRecorder::drop_old() {
  const auto reaches = [&](const Moment& moment) {
    return limits_.time_ns != 0 && moment.time_ns + limits_.time_ns <= last_ns_;
  };
  while (moments_.size() > 1 && (reaches(*moments_[1]) || bytes() > limits_.bytes))
    moments_.pop_front();
  while (!moments_.empty() && !blocks_.empty() &&
         blocks_.front()->end() <= moments_.front()->event) {
    block_bytes_ -= blocks_.front()->bytes.size();
    blocks_.pop_front();
  }
}

std::optional<FlightRecorder::Kept> FlightRecorder::kept() const {
  const std::lock_guard lock(mutex_);
  if (moments_.empty()) return std::nullopt;
  Kept out;
  out.from = moments_.front();
  out.blocks.assign(blocks_.begin(), blocks_.end());
  out.tail = tail_;
  const std::uint64_t tail_first = events_ - tail_.size();
  if (out.from->event > tail_first)
    out.tail.erase(out.tail.begin(),
                   out.tail.begin() + static_cast<std::ptrdiff_t>(out.from->event - tail_first));
  return out;
}

FlightRecorder::Held FlightRecorder::held() const {
  const std::lock_guard lock(mutex_);
  if (moments_.empty()) return {};
  const std::uint64_t from = moments_.front()->time_ns;
  return {static_cast<double>(last_ns_ - std::min(last_ns_, from)) / 1e9, bytes()};
}

namespace {

// Makes an image of the moment in memory.
Result<Fd> image_of(const FlightRecorder::Moment& moment, const std::string& start_path) {
  const image::OpenOptions open = {.load_bitmaps = false};
  E4R_TRY(const image::Image start, image::Image::open(start_path, open));
  const std::size_t per_group = words_of(start.superblock());
  E4R_TRY(const auto words, unpack_words(moment, moment.groups.size() * per_group));
  return image::memory_with_bitmaps(
      start_path, [&](GroupNumber group) -> std::span<const std::uint64_t> {
        const auto found = std::ranges::lower_bound(moment.groups, group);
        if (found == moment.groups.end() || *found != group) return {};
        const auto at = static_cast<std::size_t>(found - moment.groups.begin());
        return std::span(words).subspan(at * per_group, per_group);
      });
}

Status write_parts(const FlightRecorder::Kept& kept, const FlightNotes& notes,
                   capture::CaptureWriter& writer) {
  std::unordered_set<std::uint64_t> inodes;
  trace::TraceSummary summary;
  summary.format = summary.recorded_as = trace::Format::e4t;
  summary.generation = notes.generation;
  std::uint64_t first_ns = 0, last_ns = 0;
  E4R_CHECK(kept.for_each([&](std::span<const Event> events) {
    if (first_ns == 0) first_ns = events.front().time_ns;
    last_ns = events.back().time_ns;
    for (const Event& event : events) {
      inodes.insert(event.ino);
      summary.add(event, nullptr);
    }
    return Status();
  }));
  const double seconds = static_cast<double>(last_ns - first_ns) / 1e9;
  capture::StartFacts start = notes.start;
  const std::time_t now = std::time(nullptr);
  start.time = format_utc(now - static_cast<std::time_t>(seconds));
  start.snapshot = "checkpoint";
  start.events = "minimal";
  start.mounted = true;
  E4R_CHECK(writer.start(start));
  E4R_CHECK(
      writer.text(capture::text_name::kCheckpoint,
                  kept.from->state.text([&](std::uint64_t ino) { return inodes.contains(ino); })));
  E4R_CHECK(writer.text(capture::text_name::kTunables, notes.tunables));
  E4R_TRY(const Fd copy, image_of(*kept.from, notes.image_path));
  E4R_TRY(const auto image, capture::StartImage::read(copy.path()));
  E4R_CHECK(image.pack([&](std::string_view part) { return writer.image(part); }));
  E4R_CHECK(kept.for_each(
      [&](std::span<const Event> events) { return writer.events(events, notes.generation); }));
  E4R_CHECK(writer.end_events(summary));
  capture::EndFacts end;
  end.time = format_utc(now);
  end.reason = notes.reason;
  end.elapsed_s = seconds;
  end.events = summary.events;
  return writer.finish(end);
}

}  // namespace

Status write_flight(const FlightRecorder::Kept& kept, const FlightNotes& notes,
                    const OutputName& output) {
  E4R_TRY(auto file, trace::OutputFile::create(output));
  E4R_TRY(const auto writer,
          capture::CaptureWriter::create(std::move(file), capture::kCheckpointVersion));
  return write_parts(kept, notes, *writer);
}

}  // namespace e4r::watch
