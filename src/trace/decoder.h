// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trace/bytes.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::trace {

// The purpose of a recording.
enum class Purpose : std::uint8_t {
  allocator,  // `e4replay verify` and `replay`
  shrinker,   // `e4replay shrinker`
};

// A kind of event that a recording should contain. If an essential kind was not recorded, no exact
// replay is possible, unless nothing of that kind happened; ExactnessCheck reports the obstacle. If
// another kind was not recorded, the replay has to guess.
struct WantedEvent {
  EventKind kind;
  bool essential;
};

// All wanted events for a purpose, in no particular order. A kernel may lack some that are not
// essential.
[[nodiscard]] std::span<const WantedEvent> wanted_events(Purpose purpose);

// A set of event kinds.
class KindSet {
 public:
  [[nodiscard]] static constexpr KindSet all() { return KindSet(~std::uint64_t{0}); }
  [[nodiscard]] static constexpr KindSet none() { return KindSet(0); }
  // The kinds that a recording for this purpose should have.
  [[nodiscard]] static KindSet for_purpose(Purpose purpose);
  [[nodiscard]] constexpr bool contains(EventKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1) != 0;
  }

 private:
  static_assert(kEventKinds <= 64);
  explicit constexpr KindSet(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_;
};

// Writes decoded bytes to the caller's buffer. The adapters below turn a decoder into a ByteSource.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Fills the front of `out` (not empty) and returns the number of bytes; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> out) = 0;
  [[nodiscard]] virtual std::string warning() const { return {}; }
};

// Both return a decoder that decompresses all of `in`. Input that is damaged or ends within a
// member or frame is an Error that names the offset in `in`. A lenient decoder ends there instead,
// and sets a warning(). A compression ratio beyond UnpackLimit is an Error unless options.any_ratio
// is set.
[[nodiscard]] std::unique_ptr<Decoder> gzip_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);
[[nodiscard]] std::unique_ptr<Decoder> zstd_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);

// Returns a source that runs the decoder on demand, in the caller's thread.
[[nodiscard]] std::unique_ptr<ByteSource> chunks_of(std::unique_ptr<Decoder> decoder);

// Returns a source whose decoder runs in its own thread, a few chunks ahead.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<Decoder> decoder);

}  // namespace e4r::trace
