// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/e4t/block.h"
#include "trace/event.h"
#include "trace/summary.h"
#include "trace/trace.h"
#include "util/status.h"

namespace e4r::trace::e4t {

// The first bytes of every .e4t file.
inline constexpr std::string_view kMagic =
    "\x89"
    "E4T\r\n\x1a\n";
inline constexpr std::uint16_t kVersion = 1;

// Produces the bytes of an .e4t file sequentially. Each call appends to `out`, which the caller may
// empty between calls.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void begin();
  // `generation` is the kernel's generation, or unknown.
  void add(std::span<const Event> events, Generation generation);
  // Appends the events that are not yet in a block, so an unfinished file can be read.
  void flush();
  // Ends the file. Stores the facts of `summary` that do not follow from the events.
  void finish(const TraceSummary& summary);

 private:
  void write_block();
  void write_frame(char type, std::span<const std::uint8_t> payload, std::uint32_t events);

  std::string& out_;
  BlockEncoder block_;
  std::uint64_t blocks_ = 0, events_ = 0;
  Generation generation_ = Generation::unknown;
  std::uint32_t chain_ = 0;  // checksum over the blocks' checksums
};

// Opens a trace in .e4t form. An Error gives the offset within the decompressed file. A lenient
// trace skips damaged blocks and accepts a missing end, with warnings.
[[nodiscard]] std::unique_ptr<Trace> e4t_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                               const ReadOptions& options);

// Packed events in memory, in blocks as in a file but without the frames around them.
class PackedBlocks {
 public:
  void add(std::span<const Event> events);
  // Adds a block of `events` events that a BlockEncoder has made. Must not be mixed with add().
  void add_packed(std::span<const std::uint8_t> payload, std::uint32_t events);
  // Makes all events readable. Call it after the last add().
  void finish();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }

  // Returns a reader from the beginning that shares ownership of `store`. Several threads may each
  // have a reader.
  [[nodiscard]] static std::unique_ptr<EventSource> read(std::shared_ptr<const PackedBlocks> store);

 private:
  class Reader;
  struct Block {
    std::size_t offset;
    std::uint32_t size;
    std::uint32_t events;
  };
  void seal();

  BlockEncoder encoder_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Block> blocks_;
};

// The payload of an end frame: counts of what precedes it, and the part of a summary that does not
// follow from the events.
struct Totals {
  std::uint64_t blocks = 0, events = 0;
  std::uint32_t chain = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

[[nodiscard]] std::vector<std::uint8_t> encode_facts(const Totals& totals,
                                                     const TraceSummary& summary);
// Decodes the payload of an end frame. Skips facts that only later versions know. Returns false if
// the payload is damaged.
[[nodiscard]] bool decode_facts(std::span<const std::uint8_t> payload, Totals& totals,
                                TraceSummary& summary);

}  // namespace e4r::trace::e4t
