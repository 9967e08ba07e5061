// SPDX-License-Identifier: GPL-2.0-or-later
#include <zlib.h>
#include <zstd.h>

#include <climits>

#include "trace/decoder.h"
#include "trace/unpack_limit.h"

namespace e4r::trace {
namespace {

// The common part of both decompressors: compressed input by chunks, its offset, and reports of
// damage.
class Decompressor : public Decoder {
 public:
  Decompressor(std::unique_ptr<ByteSource> in, std::string name, const ByteOptions& options)
      : in_(std::move(in)),
        name_(std::move(name)),
        limit_(options.any_ratio),
        lenient_(options.lenient) {}

  Result<std::size_t> read(std::span<char> out) final {
    if (done_) return std::size_t{0};
    const std::uint64_t before = offset_;
    Result<std::size_t> got = decode(out);
    if (!got.ok()) done_ = true;
    if (got.ok()) E4R_CHECK(limit_.add(offset_ - before, *got, name_));
    if (got.ok() || !lenient_) return got;
    warning_ = got.error().message;
    return std::size_t{0};
  }
  std::string warning() const final { return warning_; }

 protected:
  // As read(). Data decoded before damage must be delivered first: a call that produced data
  // returns it, and the next call fails.
  virtual Result<std::size_t> decode(std::span<char> out) = 0;

  // Makes input() non-empty; returns false at the end of the input.
  Result<bool> more_input() {
    if (!input_.empty()) return true;
    E4R_TRY(input_, in_->next());
    return !input_.empty();
  }
  std::string_view input() const { return input_; }
  void consume(std::size_t count) {
    input_.remove_prefix(count);
    offset_ += count;
  }
  std::size_t finish() {
    done_ = true;
    return 0;
  }
  Error ends_early() const {
    return error("{}: compressed data end early at byte {}", name_, offset_);
  }
  Error damaged(const char* why) const {
    return error("{}: compressed data are damaged at byte {}: {}", name_, offset_, why);
  }

 private:
  std::unique_ptr<ByteSource> in_;
  std::string name_;
  std::string warning_;
  std::string_view input_;
  std::uint64_t offset_ = 0;
  UnpackLimit limit_;
  bool lenient_;
  bool done_ = false;
};

class ZstdDecoder final : public Decompressor {
 public:
  using Decompressor::Decompressor;

 private:
  struct Free {
    void operator()(ZSTD_DStream* s) const { ZSTD_freeDStream(s); }
  };

  Result<std::size_t> decode(std::span<char> out) override {
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    if (failed_ != nullptr) return damaged(failed_);
    while (to.pos < to.size) {
      E4R_TRY(const bool more, more_input());
      if (!more && !within_frame_) return to.pos > 0 ? to.pos : finish();
      ZSTD_inBuffer from = {input().data(), input().size(), 0};
      const std::size_t before = to.pos;
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &to, &from);
      consume(from.pos);
      if (ZSTD_isError(hint)) {
        failed_ = ZSTD_getErrorName(hint);
        if (to.pos > 0) return to.pos;
        return damaged(failed_);
      }
      within_frame_ = hint != 0;
      if (!more && to.pos == before && within_frame_) {
        if (to.pos > 0) return to.pos;
        return ends_early();
      }
    }
    return to.pos;
  }

  std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
  bool within_frame_ = false;
  const char* failed_ = nullptr;  // the stream failed and must not be used again
};

class GzipDecoder final : public Decompressor {
 public:
  GzipDecoder(std::unique_ptr<ByteSource> in, std::string name, const ByteOptions& options)
      : Decompressor(std::move(in), std::move(name), options) {
    inflateInit2(&stream_, MAX_WBITS + 16);
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

 private:
  // Moves past the zero padding that gzip allows between members.
  Result<bool> next_member() {
    for (;;) {
      E4R_TRY(const bool more, more_input());
      if (!more) return false;
      if (input().front() != 0) break;
      consume(1);
    }
    inflateReset(&stream_);
    within_member_ = true;
    return true;
  }

  Result<std::size_t> decode(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const auto made = [&] { return out.size() - stream_.avail_out; };
    while (stream_.avail_out > 0) {
      if (!within_member_) {
        E4R_TRY(const bool more, next_member());
        if (!more) return made() > 0 ? made() : finish();
      }
      E4R_TRY(const bool more, more_input());
      if (!more) {
        if (made() > 0) return made();
        return ends_early();
      }
      const int code = inflate_some();
      if (code == Z_STREAM_END) within_member_ = false;
      if (code == Z_OK || code == Z_STREAM_END) continue;
      if (made() > 0) return made();
      return damaged(stream_.msg != nullptr ? stream_.msg : "not gzip data");
    }
    return made();
  }

  int inflate_some() {
    const std::size_t given = std::min<std::size_t>(input().size(), UINT_MAX);
    // zlib does not write through next_in, but its type lacks const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input().data()));
    stream_.avail_in = static_cast<uInt>(given);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    consume(given - stream_.avail_in);
    return code;
  }

  z_stream stream_ = {};
  bool within_member_ = false;
};

}  // namespace

std::unique_ptr<Decoder> gzip_decoder(std::unique_ptr<ByteSource> in, std::string name,
                                      const ByteOptions& options) {
  return std::make_unique<GzipDecoder>(std::move(in), std::move(name), options);
}

std::unique_ptr<Decoder> zstd_decoder(std::unique_ptr<ByteSource> in, std::string name,
                                      const ByteOptions& options) {
  return std::make_unique<ZstdDecoder>(std::move(in), std::move(name), options);
}

}  // namespace e4r::trace
