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

// Events are packed in independent blocks. docs/trace-format.md describes the bytes.
inline constexpr std::uint32_t kBlockEvents = 8192;       // the most events in a block
inline constexpr std::size_t kBlockBytes = 16u << 10;     // a block of this size is full
inline constexpr std::size_t kMaxEventBytes = 320;        // an upper bound for one event
inline constexpr std::size_t kMaxBlockBytes = 64u << 10;  // the largest block that a reader accepts

class BlockEncoder {
 public:
  BlockEncoder() : bytes_(kBlockBytes + kMaxEventBytes) {}
  [[nodiscard]] bool full() const { return events_ == kBlockEvents || size_ >= kBlockBytes; }
  [[nodiscard]] bool empty() const { return events_ == 0; }
  // Must not be called when full(). Drops fields that the event's kind does not have.
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

// Reads one block's payload. kMaxEventBytes readable bytes must follow it.
class BlockDecoder {
 public:
  BlockDecoder() = default;
  BlockDecoder(std::span<const std::uint8_t> payload, std::uint32_t events)
      : at_(payload.data()), end_(payload.data() + payload.size()), left_(events) {}

  // Fills the front of `out` and returns the number of events; 0 at the end of the block. Fails if
  // no encoder could have made the payload.
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
