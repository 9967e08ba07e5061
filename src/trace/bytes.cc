// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "trace/decoder.h"
#include "util/bytes.h"
#include "util/output.h"

namespace e4r::trace {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::size_t chunk)
      : all_(bytes), rest_(bytes), chunk_(chunk) {}
  Result<std::string_view> next() override {
    const std::string_view out = rest_.substr(0, chunk_);
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view whole() const override { return all_; }

 private:
  std::string_view all_, rest_;
  std::size_t chunk_;
};

class MappedSource final : public ByteSource {
 public:
  MappedSource(const char* data, std::size_t size, std::string warning = {})
      : data_(data), size_(size), warning_(std::move(warning)) {}
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;
  ~MappedSource() override { ::munmap(const_cast<char*>(data_), size_); }
  Result<std::string_view> next() override {
    return std::exchange(done_, true) ? std::string_view() : whole();
  }
  std::string warning() const override { return warning_; }
  std::string_view whole() const override { return {data_, size_}; }

 private:
  const char* data_;
  std::size_t size_;
  std::string warning_;
  bool done_ = false;
};

// Reads a descriptor and takes ownership of it.
class FdDecoder final : public Decoder {
 public:
  FdDecoder(int fd, std::string name, bool own) : fd_(fd), name_(std::move(name)), own_(own) {}
  FdDecoder(const FdDecoder&) = delete;
  FdDecoder& operator=(const FdDecoder&) = delete;
  ~FdDecoder() override {
    if (own_) ::close(fd_);
  }
  Result<std::size_t> read(std::span<char> out) override {
    for (;;) {
      const ssize_t got = ::read(fd_, out.data(), out.size());
      if (got >= 0)
        return offset_ += static_cast<std::uint64_t>(got), static_cast<std::size_t>(got);
      if (errno != EINTR)
        return error("{}: cannot read at byte {}: {}", name_, offset_, errno_text(errno));
    }
  }

 private:
  int fd_;
  std::string name_;
  bool own_;
  std::uint64_t offset_ = 0;
};

// Delivers `head` first, then the rest of `raw`. `head` is raw's last chunk, or a copy of several
// chunks.
class PushedBackSource final : public ByteSource {
 public:
  PushedBackSource(std::string_view head, std::string copy, std::unique_ptr<ByteSource> rest)
      : copy_(std::move(copy)), head_(copy_.empty() ? head : copy_), rest_(std::move(rest)) {}
  std::string_view head() const { return head_; }
  Result<std::string_view> next() override {
    if (started_ || head_.empty()) return rest_->next();
    started_ = true;
    return head_;
  }
  std::string warning() const override { return rest_->warning(); }
  std::string_view whole() const override { return rest_->whole(); }

 private:
  std::string copy_;
  std::string_view head_;
  std::unique_ptr<ByteSource> rest_;
  bool started_ = false;
};

// Maps a whole regular file of non-zero size. Returns nullptr if that is impossible, for example
// because tracefs files report a size of 0.
std::unique_ptr<ByteSource> map_file(int fd, std::string warning = {}) {
  struct stat st = {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) return nullptr;
  const auto size = static_cast<std::size_t>(st.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return nullptr;
  ::madvise(data, size, MADV_SEQUENTIAL);
  return std::make_unique<MappedSource>(static_cast<const char*>(data), size, std::move(warning));
}

Result<std::unique_ptr<ByteSource>> open_raw(const std::string& path) {
  if (path == "-")
    return chunks_of(std::make_unique<FdDecoder>(STDIN_FILENO, input_name(path), false));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return error("{}: cannot open: {}", path, errno_text(errno));
  struct stat st = {};
  if (::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    ::close(fd);
    return error("{}: is a directory: give a trace file", path);
  }
  if (auto mapped = map_file(fd)) {
    ::close(fd);
    return mapped;
  }
  return chunks_of(std::make_unique<FdDecoder>(fd, path, true));
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::unique_ptr<ByteSource> memory_bytes(std::string_view bytes, std::size_t chunk_size) {
  return std::make_unique<MemorySource>(bytes, std::max<std::size_t>(chunk_size, 1));
}

Result<std::unique_ptr<ByteSource>> in_one_piece(std::unique_ptr<ByteSource> bytes,
                                                 const std::string& name) {
  if (!bytes->whole().empty()) return bytes;
  const std::string where = temporary_directory();
  E4R_TRY(const Fd fd, anonymous_file(where));
  for (;;) {
    E4R_TRY(const std::string_view chunk, bytes->next());
    if (chunk.empty()) break;
    if (const int failed = write_all(fd.get(), chunk); failed != 0)
      return error("{}: cannot write a copy of the input: {}: set TMPDIR to a directory with room",
                   where, errno_text(failed));
  }
  auto mapped = map_file(fd.get(), bytes->warning());
  if (mapped == nullptr) return error("{}: is empty, or cannot be mapped", name);
  return mapped;
}

Result<Peeked> peek(std::unique_ptr<ByteSource> raw, std::size_t wanted) {
  E4R_TRY(const std::string_view head, raw->next());
  std::string copy;
  if (head.size() < wanted && !head.empty()) {
    copy = head;
    while (copy.size() < wanted) {
      E4R_TRY(const std::string_view more, raw->next());
      if (more.empty()) break;
      copy += more;
    }
  }
  auto source = std::make_unique<PushedBackSource>(head, std::move(copy), std::move(raw));
  const std::string_view all = source->head();
  return Peeked{all, std::move(source)};
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path,
                                               const ByteOptions& options) {
  E4R_TRY(auto raw, open_raw(path));
  return decompress(std::move(raw), input_name(path), options);
}

Result<std::unique_ptr<ByteSource>> decompress(std::unique_ptr<ByteSource> raw,
                                               const std::string& name,
                                               const ByteOptions& options) {
  E4R_TRY(Peeked peeked, peek(std::move(raw), 4));
  std::unique_ptr<Decoder> decoder;
  if (peeked.head.starts_with("\x1f\x8b")) {
    decoder = gzip_decoder(std::move(peeked.source), name, options);
  } else if (peeked.head.starts_with("\x28\xb5\x2f\xfd")) {
    decoder = zstd_decoder(std::move(peeked.source), name, options);
  } else {
    return std::move(peeked.source);
  }
  return options.read_ahead ? read_ahead(std::move(decoder)) : chunks_of(std::move(decoder));
}

namespace {

// The common part of both decompressors: reads compressed input in chunks, tracks its offset, and
// reports damage.
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
  // Implements read(). Data decoded before damage must be delivered before the damage is reported:
  // a call that produced data returns it, and the next call fails.
  virtual Result<std::size_t> decode(std::span<char> out) = 0;

  // Reads more input if input() is empty. Returns false at the end of the input.
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
  Error damage_error(const char* why) const {
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
    if (failed_ != nullptr) return damage_error(failed_);
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
        return damage_error(failed_);
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
      return damage_error(stream_.msg != nullptr ? stream_.msg : "not gzip data");
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

namespace {

std::uint32_t crc(std::uint32_t start, std::string_view bytes) {
  if (bytes.empty()) return start;  // crc32 returns its initial value for a null pointer
  return static_cast<std::uint32_t>(
      crc32(start, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

std::uint32_t frame_sum(std::string_view head, std::string_view stored) {
  return crc(crc(0, head.substr(0, kFrameBytes - 4)), stored);
}

std::uint32_t extend_chain(std::uint32_t chain, std::uint32_t sum) {
  std::array<char, 4> bytes;
  put_le(bytes.data(), sum);
  return crc(chain, {bytes.data(), bytes.size()});
}

}  // namespace e4r::trace
