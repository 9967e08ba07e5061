// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <span>
#include <string>

#include "trace/bytes.h"
#include "util/status.h"

namespace e4r::trace {

// Produces bytes into the caller's buffer: what stands behind a ByteSource whose bytes do not lie
// in memory already.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Fills the front of `out` (not empty) and returns how much; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> out) = 0;
  [[nodiscard]] virtual std::string warning() const { return {}; }
};

// Decompressors of everything that `in` holds. Input that ends within a member or frame, or is
// damaged, is an Error naming the offset in `in`, or the end when lenient. Input that unpacks to
// more than any recording is an Error unless options.any_ratio.
[[nodiscard]] std::unique_ptr<Decoder> gzip_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);
[[nodiscard]] std::unique_ptr<Decoder> zstd_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);

// A source that calls the decoder when asked.
[[nodiscard]] std::unique_ptr<ByteSource> chunks_of(std::unique_ptr<Decoder> decoder);

// A source whose decoder runs in a thread of its own, a few chunks ahead.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<Decoder> decoder);

}  // namespace e4r::trace
