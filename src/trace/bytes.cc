// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "trace/decoder.h"
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

// Delivers `head` first, then the rest. `head` is raw's last chunk, or a copy of several chunks.
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

// Maps a whole regular file of non-zero size. Returns nullptr if that is impossible: files of
// tracefs claim to be empty.
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

}  // namespace e4r::trace
