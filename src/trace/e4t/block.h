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

// A varint holds seven bits per byte, lowest bits first; the top bit says that more bytes follow.
inline constexpr int kMaxVarint = 10;

inline std::uint8_t* put_varint(std::uint8_t* p, std::uint64_t value) {
  while (value >= 0x80) {
    *p++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *p++ = static_cast<std::uint8_t>(value);
  return p;
}

// The value of a varint of several bytes, and the position after it.
struct LongVarint {
  std::uint64_t value;
  const std::uint8_t* end;
};
inline LongVarint get_rest(const std::uint8_t* p, std::uint64_t value) {
  value &= 0x7f;
  for (int shift = 7; shift < 7 * kMaxVarint; shift += 7) {
    const std::uint64_t byte = *p++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return {value, p};
}

// Reads a varint. kMaxVarint bytes must be readable. Drops bits beyond 64. Most numbers have one
// byte and take the first branch.
inline std::uint64_t get_varint(const std::uint8_t*& p) {
  const std::uint64_t first = *p++;
  if (first < 0x80) return first;
  const LongVarint whole = get_rest(p, first);
  p = whole.end;
  return whole.value;
}

// Maps small differences of either sign to small numbers: 0, -1, 1, -2, ... -> 0, 1, 2, 3, ...
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t code) {
  return code >> 1 ^ (0 - (code & 1));
}

// The kind of an event occupies five bits of its first byte. The value 31 is an escape: a varint
// with the kind minus 31 follows the first byte.
inline constexpr std::uint8_t kKindBits = 0x1f;
inline constexpr std::uint32_t kEscapedKind = 31;

// Writes the first byte and, if needed, the escaped kind. Leaves bits 5 to 7 clear.
inline std::uint8_t* put_kind(std::uint8_t* p, std::uint32_t kind) {
  if (kind < kEscapedKind) {
    *p++ = static_cast<std::uint8_t>(kind);
    return p;
  }
  *p++ = kEscapedKind;
  return put_varint(p, kind - kEscapedKind);
}

// Reads the kind. `p` points after the first byte and moves past the escaped kind. kMaxVarint bytes
// must be readable at `p`.
inline std::uint64_t get_kind(std::uint8_t first, const std::uint8_t*& p) {
  const std::uint32_t kind = first & kKindBits;
  return kind < kEscapedKind ? kind : kEscapedKind + get_varint(p);
}

// Events are packed into independent blocks. docs/trace-format.md describes the format.
inline constexpr std::uint32_t kBlockEvents = 8192;       // the maximum number of events in a block
inline constexpr std::size_t kBlockBytes = 16u << 10;     // a block of this size is full
inline constexpr std::size_t kMaxEventBytes = 320;        // an upper bound for one event
inline constexpr std::size_t kMaxBlockBytes = 64u << 10;  // the largest block that a reader accepts

class BlockEncoder {
 public:
  BlockEncoder() : bytes_(kBlockBytes + kMaxEventBytes) {}
  [[nodiscard]] bool full() const { return events_ == kBlockEvents || size_ >= kBlockBytes; }
  [[nodiscard]] bool empty() const { return events_ == 0; }
  // Adds an event, without fields that its kind does not have. Must not be called if full().
  void add(const Event& event);
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] std::span<const std::uint8_t> payload() const { return {bytes_.data(), size_}; }
  // Begins the next block.
  void clear();

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t size_ = 0;
  std::uint32_t events_ = 0;
  Event last_;  // only time, pid, cpu and dev are used
  EventModel model_;
};

// Reads the payload of one block. kMaxEventBytes bytes after it must be readable.
class BlockDecoder {
 public:
  BlockDecoder() = default;
  BlockDecoder(std::span<const std::uint8_t> payload, std::uint32_t events)
      : at_(payload.data()), end_(payload.data() + payload.size()), left_(events) {}

  // Fills the front of `out` and returns the number of events; 0 at the end of the block. Fails if
  // no encoder could have written the payload.
  [[nodiscard]] Result<std::size_t> read(std::span<Event> out);

 private:
  [[nodiscard, gnu::always_inline]] inline bool read_one(Event& event);

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint32_t left_ = 0;
  Event last_;
  EventModel model_;
};

}  // namespace e4r::trace::e4t
