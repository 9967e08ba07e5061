// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/decoder.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "util/units.h"

namespace e4r::trace {
namespace {

enum class Want : std::uint8_t {
  unused,
  allocator,
  allocator_essential,
  shrinker,
  shrinker_essential,
};

struct Use {
  EventKind kind;
  Want want;
};
constexpr Use kUses[] = {
#define E4R_EVENT(kind, tag, name, body, model, want) {EventKind::kind, Want::want},
#include "trace/events.def"
};

template <Want Helpful, Want Essential>
constexpr auto kWanted = [] {
  constexpr auto is_one = [](const Use& use) {
    return use.want == Helpful || use.want == Essential;
  };
  std::array<WantedEvent, std::count_if(std::begin(kUses), std::end(kUses), is_one)> out = {};
  std::size_t at = 0;
  for (const Use& use : kUses)
    if (is_one(use)) out[at++] = {use.kind, use.want == Essential};
  return out;
}();

}  // namespace

std::span<const WantedEvent> wanted_events(Purpose purpose) {
  if (purpose == Purpose::shrinker) return kWanted<Want::shrinker, Want::shrinker_essential>;
  return kWanted<Want::allocator, Want::allocator_essential>;
}

KindSet KindSet::for_purpose(Purpose purpose) {
  KindSet out = none();
  for (const WantedEvent& event : wanted_events(purpose))
    out.bits_ |= std::uint64_t{1} << static_cast<unsigned>(event.kind);
  return out;
}

namespace {

constexpr std::size_t kChunk = 512 * kKiB;

class ChunkSource final : public ByteSource {
 public:
  explicit ChunkSource(std::unique_ptr<Decoder> decoder)
      : decoder_(std::move(decoder)), buffer_(kChunk) {}
  Result<std::string_view> next() override {
    E4R_TRY(const std::size_t got, decoder_->read(buffer_));
    return std::string_view(buffer_.data(), got);
  }
  std::string warning() const override { return decoder_->warning(); }

 private:
  std::unique_ptr<Decoder> decoder_;
  std::vector<char> buffer_;
};

// A ring of buffers between one producer thread and one consumer. Slots [taken_, filled_) hold
// data; the consumer holds slot taken_ - 1 until it asks for the next one.
class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<Decoder> decoder)
      : decoder_(std::move(decoder)), thread_([this] { produce(); }) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Result<std::string_view> next() override {
    std::unique_lock lock(mutex_);
    released_ = taken_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return filled_ > taken_ || finished_; });
    if (filled_ > taken_) {
      const Slot& slot = slots_[taken_++ % kSlots];
      return std::string_view(slot.data.data(), slot.size);
    }
    if (!status_.ok()) return status_.error();
    return std::string_view();
  }
  std::string warning() const override {
    const std::lock_guard lock(mutex_);
    return finished_ ? decoder_->warning() : std::string();
  }

 private:
  static constexpr std::size_t kSlots = 4;
  struct Slot {
    std::vector<char> data;
    std::size_t size = 0;
  };

  // Waits for a free slot. Returns nullptr if the consumer is gone.
  Slot* free_slot() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || filled_ - released_ < kSlots; });
    return stop_ ? nullptr : &slots_[filled_ % kSlots];
  }

  // Publishes a filled slot, or the end if `got` is empty or an Error. Returns whether the producer
  // should continue.
  bool publish(Slot& slot, const Result<std::size_t>& got) {
    {
      const std::lock_guard lock(mutex_);
      if (got.ok() && *got > 0) {
        slot.size = *got;
        ++filled_;
      } else {
        finished_ = true;
        if (!got.ok()) status_ = got.error();
      }
    }
    changed_.notify_all();
    return got.ok() && *got > 0;
  }

  // Turns exhausted memory into an Error: an exception that escaped the thread would end the
  // program without a message.
  void produce() {
    Slot none;
    try {
      for (;;) {
        Slot* slot = free_slot();
        if (slot == nullptr) return;
        if (slot->data.empty()) slot->data.resize(kChunk);
        if (!publish(*slot, decoder_->read(slot->data))) return;
      }
    } catch (const std::bad_alloc&) {
      publish(none, error("out of memory: raise the limit (ulimit -v), or give a smaller input"));
    }
  }

  std::unique_ptr<Decoder> decoder_;
  std::array<Slot, kSlots> slots_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0, taken_ = 0, released_ = 0;
  bool finished_ = false, stop_ = false;
  Status status_;
  std::thread thread_;  // last: the thread uses every member above
};

}  // namespace

std::unique_ptr<ByteSource> chunks_of(std::unique_ptr<Decoder> decoder) {
  return std::make_unique<ChunkSource>(std::move(decoder));
}

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<Decoder> decoder) {
  return std::make_unique<ReadAhead>(std::move(decoder));
}

}  // namespace e4r::trace
