// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <span>
#include <string>

#include "trace/bytes.h"
#include "util/status.h"

namespace e4r::trace {

// Produces bytes into the caller's buffer. Adapters below turn a decoder into a ByteSource.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Fills the front of `out` (not empty) and returns the number of bytes; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> out) = 0;
  [[nodiscard]] virtual std::string warning() const { return {}; }
};

// Decompressors for the whole of `in`. Input that is damaged or ends within a member or frame is an
// Error that names the offset in `in`; a lenient decoder ends there with a warning() instead. A
// compression ratio beyond UnpackLimit is an Error unless options.any_ratio.
[[nodiscard]] std::unique_ptr<Decoder> gzip_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);
[[nodiscard]] std::unique_ptr<Decoder> zstd_decoder(std::unique_ptr<ByteSource> in,
                                                    std::string name, const ByteOptions& options);

// Returns a source that runs the decoder on demand, in the caller's thread.
[[nodiscard]] std::unique_ptr<ByteSource> chunks_of(std::unique_ptr<Decoder> decoder);

// Returns a source whose decoder runs in its own thread, a few chunks ahead.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<Decoder> decoder);

}  // namespace e4r::trace
