// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r::trace {

// A stream of bytes in chunks. Not thread-safe: one consumer.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next chunk; empty at the end (and on every call after that). It stays valid until the next
  // call. An Error names the input and the offset.
  [[nodiscard]] virtual Result<std::string_view> next() = 0;
  // Set at the end of a lenient source whose input was damaged: what was, and where.
  [[nodiscard]] virtual std::string warning() const { return {}; }
  // All bytes, delivered or not, when they lie in memory in one piece while the source lives; else
  // nothing.
  [[nodiscard]] virtual std::string_view whole() const { return {}; }
};

struct ByteOptions {
  // Compressed data that ends early or is damaged is an end of input with a warning(), no Error.
  bool lenient = false;
  // Decompress in a thread of its own, ahead of the consumer.
  bool read_ahead = true;
  // Decompress what unpacks to more than a recording does (UnpackLimit), too.
  bool any_ratio = false;
};

// The name under which messages speak of an input: `path`, or "standard input" for "-".
[[nodiscard]] std::string input_name(const std::string& path);

// Opens a file, or standard input for "-". A plain file is mapped and arrives as one chunk; gzip
// and zstd data (any number of members or frames) are recognised by their first bytes and arrive
// decompressed.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path,
                                                             const ByteOptions& options);

// Bytes in memory, which must outlive the source: one chunk, or chunks of at most `chunk_size`.
[[nodiscard]] std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes,
                                                       std::size_t chunk_size = SIZE_MAX);

// What `raw` holds, decompressed when its first bytes say that it is gzip or zstd.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> decompress(std::unique_ptr<ByteSource> raw,
                                                             const std::string& name,
                                                             const ByteOptions& options);

// The same bytes with a whole(): what does not lie in memory in one piece goes to a file in $TMPDIR
// (or /tmp) that has no name any more. An Error names the input, or that directory.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> in_one_piece(std::unique_ptr<ByteSource> bytes,
                                                               const std::string& name);

// A look ahead: `head` holds at least `wanted` bytes, or all that there are, and `source` delivers
// everything from the beginning.
struct Peeked {
  std::string_view head;  // valid until the source's second next()
  std::unique_ptr<ByteSource> source;
};
[[nodiscard]] Result<Peeked> peek(std::unique_ptr<ByteSource> raw, std::size_t wanted);

}  // namespace e4r::trace
