// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/e4t/block.h"
#include "trace/trace.h"
#include "util/status.h"

namespace e4r::trace::e4t {

// The first bytes of every .e4t file.
inline constexpr std::string_view kMagic =
    "\x89"
    "E4T\r\n\x1a\n";
inline constexpr std::uint16_t kVersion = 1;

// Makes the bytes of an .e4t file. Nothing needs seeking: each call appends to `out`, which the
// caller may empty between calls.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void begin();
  // `generation`: what is known of it by now.
  void add(std::span<const Event> events, Generation generation);
  // Appends the events that are not yet in a block: for a reader of an unfinished file.
  void flush();
  // Ends the file; what `summary` knows beyond the events is kept with it.
  void finish(const TraceSummary& summary);

 private:
  void write_block();
  void write_frame(char type, std::span<const std::uint8_t> payload, std::uint32_t events);

  std::string& out_;
  BlockEncoder block_;
  std::uint64_t blocks_ = 0, events_ = 0;
  Generation generation_ = Generation::unknown;
  std::uint32_t chain_ = 0;  // checksum of the blocks' checksums
};

// A trace in .e4t form. Errors name the offset within the (decompressed) file. Lenient: a damaged
// block is left out with a warning, a missing end is a warning.
[[nodiscard]] std::unique_ptr<Trace> e4t_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                               const OpenOptions& options);

}  // namespace e4r::trace::e4t
