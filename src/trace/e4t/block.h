// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/e4t/model.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::trace::e4t {

// Events are packed in blocks that know nothing of each other. docs/trace-format.md describes the
// bytes.
inline constexpr std::uint32_t kBlockEvents = 8192;       // at most, in a block
inline constexpr std::size_t kBlockBytes = 16u << 10;     // a block that has these takes no more
inline constexpr std::size_t kMaxEventBytes = 320;        // an event never needs more
inline constexpr std::size_t kMaxBlockBytes = 64u << 10;  // that a reader accepts

class BlockEncoder {
 public:
  BlockEncoder() : bytes_(kBlockBytes + kMaxEventBytes) {}
  [[nodiscard]] bool full() const { return events_ == kBlockEvents || size_ >= kBlockBytes; }
  [[nodiscard]] bool empty() const { return events_ == 0; }
  // Only while not full(). Fields that the event's kind does not have are lost.
  void add(const Event& event);
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] std::span<const std::uint8_t> payload() const { return {bytes_.data(), size_}; }
  // Begins the next block.
  void clear();

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t size_ = 0;
  std::uint32_t events_ = 0;
  Event last_;  // time, pid, cpu, dev
  Model model_;
};

// Reads one block's payload, which must be followed by kMaxEventBytes readable bytes.
class BlockDecoder {
 public:
  BlockDecoder() = default;
  BlockDecoder(std::span<const std::uint8_t> payload, std::uint32_t events)
      : at_(payload.data()), end_(payload.data() + payload.size()), left_(events) {}

  // Fills the front of `out` and returns how much; 0 at the end of the block. Fails when the
  // payload is not what an encoder makes.
  [[nodiscard]] Result<std::size_t> read(std::span<Event> out);

 private:
  [[nodiscard, gnu::always_inline]] inline bool read_one(Event& event);

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint32_t left_ = 0;
  Event last_;
  Model model_;
};

}  // namespace e4r::trace::e4t
