// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/backlog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "trace/e4t/block.h"

namespace e4r::watch {
namespace e4t = trace::e4t;

void pack_events(std::span<const trace::Event> events, std::uint64_t first,
                 const std::function<void(EventBlock block)>& add) {
  e4t::BlockEncoder encoder;
  const auto seal = [&] {
    const auto payload = encoder.payload();
    EventBlock block;
    block.first = first;
    block.events = encoder.events();
    // The decoder may read beyond the end of the last event.
    block.bytes = std::vector<std::uint8_t>(payload.size() + e4t::kMaxEventBytes);
    std::ranges::copy(payload, block.bytes.begin());
    first = block.end();
    add(std::move(block));
    encoder.clear();
  };
  for (const trace::Event& event : events) {
    if (encoder.full() || encoder.events() == EventBlock::kMost) seal();
    encoder.add(event);
  }
  if (!encoder.empty()) seal();
}

Status unpack_events(const EventBlock& block, std::vector<trace::Event>& out) {
  out.resize(block.events);
  e4t::BlockDecoder decoder({block.bytes.data(), block.bytes.size() - e4t::kMaxEventBytes},
                            block.events);
  std::size_t got = 0;
  while (got < out.size()) {
    E4R_TRY(const std::size_t more, decoder.read(std::span(out).subspan(got)));
    if (more == 0) return error("a block of events is damaged");
    got += more;
  }
  return {};
}

using trace::Event;

void Backlog::add(std::span<const Event> events, std::uint64_t until_ns) {
  {
    const std::lock_guard lock(mutex_);
    tail_.insert(tail_.end(), events.begin(), events.end());
    added_ += events.size();
    until_ns_ = std::max(until_ns_, until_ns);
    if (tail_.size() >= EventBlock::kMost) pack_tail();
  }
  changed_.notify_one();
}

void Backlog::pack_tail() {
  pack_events(tail_, added_ - tail_.size(), [this](EventBlock block) {
    block_bytes_ += block.bytes.size();
    blocks_.push_back(std::move(block));
  });
  tail_.clear();
}

void Backlog::drop_read() {
  while (!keeps_ && !blocks_.empty() && blocks_.front().end() <= read_) {
    block_bytes_ -= blocks_.front().bytes.size();
    blocks_.pop_front();
  }
}

void Backlog::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
}

void Backlog::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
}

void Backlog::forget() {
  const std::lock_guard lock(mutex_);
  keeps_ = false;
  drop_read();
}

Backlog::State Backlog::state() const {
  const std::lock_guard lock(mutex_);
  return {block_bytes_ + tail_.size() * sizeof(Event), added_, read_, until_ns_, keeps_};
}

bool Backlog::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Status Backlog::copy_from(std::uint64_t number, std::vector<Event>& out) const {
  const std::uint64_t tail = added_ - tail_.size();
  if (number >= tail) {
    out.assign(tail_.begin() + static_cast<std::ptrdiff_t>(number - tail), tail_.end());
    return {};
  }
  const auto behind =
      std::ranges::upper_bound(blocks_, number, {}, [](const EventBlock& b) { return b.first; });
  const EventBlock& block = *(behind - 1);
  E4R_CHECK(unpack_events(block, out));
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(number - block.first));
  return {};
}

class Backlog::Reader final : public trace::EventSource {
 public:
  Reader(Backlog& backlog, Between between) : backlog_(backlog), between_(std::move(between)) {}

  Result<std::span<const Event>> next() override {
    constexpr std::chrono::milliseconds kPause{50};
    for (;;) {
      E4R_CHECK(between_(caught_up_));
      std::unique_lock lock(backlog_.mutex_);
      if (backlog_.stopped_) return error("stopped");
      if (at_ < backlog_.added_) {
        E4R_CHECK(backlog_.copy_from(at_, batch_));
        at_ += batch_.size();
        backlog_.read_ = at_;
        backlog_.drop_read();
        caught_up_.reset();
        return std::span<const Event>(batch_);
      }
      if (backlog_.ended_) return std::span<const Event>();
      caught_up_ = backlog_.until_ns_;
      backlog_.changed_.wait_for(lock, kPause);
    }
  }

 private:
  Backlog& backlog_;
  Between between_;
  std::vector<Event> batch_;
  std::uint64_t at_ = 0;
  std::optional<std::uint64_t> caught_up_;
};

class Backlog::PresentReader final : public trace::EventSource {
 public:
  explicit PresentReader(const Backlog& backlog) : backlog_(backlog), end_(backlog.state().added) {}

  Result<std::span<const Event>> next() override {
    if (at_ >= end_) return std::span<const Event>();
    const std::lock_guard lock(backlog_.mutex_);
    E4R_CHECK(backlog_.copy_from(at_, batch_));
    batch_.resize(std::min<std::uint64_t>(batch_.size(), end_ - at_));
    at_ += batch_.size();
    return std::span<const Event>(batch_);
  }

 private:
  const Backlog& backlog_;
  std::vector<Event> batch_;
  std::uint64_t at_ = 0, end_;
};

std::unique_ptr<trace::EventSource> Backlog::read_present() const {
  return std::make_unique<PresentReader>(*this);
}

std::unique_ptr<trace::EventSource> Backlog::read(Between between) {
  return std::make_unique<Reader>(*this, std::move(between));
}

}  // namespace e4r::watch
