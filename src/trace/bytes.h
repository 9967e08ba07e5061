// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r::trace {

// A stream of bytes in chunks. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Returns the next chunk, valid until the next call. Returns an empty chunk at the end and on
  // every later call. An Error names the input and the offset.
  [[nodiscard]] virtual Result<std::string_view> next() = 0;
  // Returns a description of the damage and its place. Empty except at the end of a lenient source
  // whose input was damaged.
  [[nodiscard]] virtual std::string warning() const { return {}; }
  // Returns all bytes, delivered or not, if they stay contiguous in memory while the source exists;
  // otherwise an empty view.
  [[nodiscard]] virtual std::string_view whole() const { return {}; }
};

struct ByteOptions {
  // Treat truncated or damaged compressed data as the end of the input, with a warning(), instead
  // of an Error.
  bool lenient = false;
  // Decompress in a separate thread, ahead of the consumer.
  bool read_ahead = true;
  // Accept data whose compression ratio exceeds the ratio of real recordings (UnpackLimit).
  bool any_ratio = false;
};

// The name of an input in messages: `path`, or "standard input" for "-".
[[nodiscard]] std::string input_name(const std::string& path);

// Opens a file, or standard input for "-". Maps a plain file and delivers it as one chunk.
// Recognises gzip and zstd data (any number of members or frames) by its first bytes and
// decompresses it.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path,
                                                             const ByteOptions& options);

// Delivers `bytes` as one chunk, or in chunks of at most `chunk_size`. The bytes must outlive the
// source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes,
                                                       std::size_t chunk_size = SIZE_MAX);

// Decompresses `raw` if it begins with the first bytes of gzip or zstd; otherwise returns it
// unchanged.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> decompress(std::unique_ptr<ByteSource> raw,
                                                             const std::string& name,
                                                             const ByteOptions& options);

// Returns a source of the same bytes whose whole() returns them. Copies them to an unlinked file in
// $TMPDIR (or /tmp) if they are not contiguous in memory. An Error names the input or that
// directory.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> in_one_piece(std::unique_ptr<ByteSource> bytes,
                                                               const std::string& name);

// The result of peek(). `head` holds at least `wanted` bytes, or the whole input if it is shorter.
// `source` delivers everything from the beginning.
struct Peeked {
  std::string_view head;  // valid until the source's second next()
  std::unique_ptr<ByteSource> source;
};
[[nodiscard]] Result<Peeked> peek(std::unique_ptr<ByteSource> raw, std::size_t wanted);

// Checksums of the frames in .e4t and .e4c files (docs/trace-format.md, docs/capture-format.md).

// The size of a frame's head. Its last four bytes are the checksum.
inline constexpr std::size_t kFrameBytes = 16;

// Returns the checksum of a frame. It covers the first kFrameBytes - 4 bytes of `head` and then
// `stored`, the payload in its stored form.
[[nodiscard]] std::uint32_t frame_sum(std::string_view head, std::string_view stored);
// Adds a frame's checksum to `chain`, the checksum over the checksums of all earlier frames. The
// first `chain` is 0.
[[nodiscard]] std::uint32_t extend_chain(std::uint32_t chain, std::uint32_t sum);

// Limits the ratio of unpacked to stored bytes. Real recordings unpack to at most 81 times their
// size. A file crafted to exhaust memory can unpack to many thousand times its size.
class UnpackLimit {
 public:
  // `any` lifts the limit.
  explicit UnpackLimit(bool any = false) : any_(any) {}

  // Adds a piece to the totals. Beyond the limit, returns an Error that names the option that lifts
  // it.
  [[nodiscard]] Status add(std::uint64_t stored, std::uint64_t plain, std::string_view name) {
    stored_ += stored;
    plain_ += plain;
    if (any_ || plain_ <= kFree || plain_ / kRatio <= stored_) return {};
    return error(
        "{}: its first {} bytes unpack to {} or more, {} times their size, which no recording "
        "does: --any-ratio (in Python: any_ratio=True) reads it anyway",
        name, stored_, plain_, plain_ / (stored_ == 0 ? 1 : stored_));
  }

 private:
  static constexpr std::uint64_t kFree = std::uint64_t{64} << 20;  // bytes that are always accepted
  static constexpr std::uint64_t kRatio = 500;

  bool any_;
  std::uint64_t stored_ = 0, plain_ = 0;
};

}  // namespace e4r::trace
