// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

namespace e4r::trace {
namespace {

class PlainFile final : public OutputFile {
 public:
  PlainFile(int fd, std::string temporary, std::string path)
      : fd_(fd), temporary_(std::move(temporary)), path_(std::move(path)) {}
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() override {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return failed("write");
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
  }

  Status commit() override {
    if (::fsync(fd_) != 0 && errno != EINVAL) return failed("write");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed("rename to its name");
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) return failed("write");
    return {};
  }

 private:
  Error failed(std::string_view what) const {
    return error("{}: cannot {}: {}", path_, what, errno_text(errno));
  }

  int fd_;
  std::string temporary_;
  std::string path_;
};

class ZstdFile final : public OutputFile {
 public:
  explicit ZstdFile(std::unique_ptr<OutputFile> file)
      : file_(std::move(file)), out_(ZSTD_CStreamOutSize()) {}
  Status write(std::string_view bytes) override { return compress(bytes, ZSTD_e_continue); }
  Status commit() override {
    E4R_CHECK(compress({}, ZSTD_e_end));
    return file_->commit();
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  };

  Status compress(std::string_view bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out = {out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, mode);
      if (ZSTD_isError(left)) return error("cannot compress: {}", ZSTD_getErrorName(left));
      E4R_CHECK(file_->write({out_.data(), out.pos}));
      if (mode == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }

  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<ZSTD_CCtx, Free> stream_{ZSTD_createCCtx()};
  std::vector<char> out_;
};

// mkstemp makes files that only their owner can read; give this one what open() would have.
void apply_umask(int fd) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, 0666 & ~mask);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return error("{}: cannot create: {}", path, errno_text(errno));
  apply_umask(fd);
  std::unique_ptr<OutputFile> file = std::make_unique<PlainFile>(fd, std::move(temporary), path);
  if (path.ends_with(".zst")) file = std::make_unique<ZstdFile>(std::move(file));
  return file;
}

}  // namespace e4r::trace
