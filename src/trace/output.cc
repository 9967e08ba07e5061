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

#include "util/fd.h"

namespace e4r::trace {
namespace {

// What PlainFile and GrowingFile have in common.
class FdFile : public OutputFile {
 public:
  FdFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Status write(std::string_view bytes) override {
    const int done = write_all(fd_.get(), bytes);
    return done == 0 ? Status() : failed("write", done);
  }

 protected:
  Status sync() {
    if (::fsync(fd_.get()) != 0 && errno != EINVAL) return failed("write", errno);
    return {};
  }
  Status close() {
    const int done = fd_.close();
    return done == 0 ? Status() : failed("write", done);
  }
  [[nodiscard]] Error failed(std::string_view what, int errnum) const {
    return error("{}: cannot {}: {}", path_, what, errno_text(errnum));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Fd fd_;
  std::string path_;
};

class PlainFile final : public FdFile {
 public:
  PlainFile(int fd, std::string temporary, std::string path)
      : FdFile(fd, std::move(path)), temporary_(std::move(temporary)) {}
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() override {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status commit() override {
    E4R_CHECK(sync());
    if (::rename(temporary_.c_str(), path().c_str()) != 0)
      return failed("rename to its name", errno);
    temporary_.clear();
    return close();
  }

 private:
  std::string temporary_;  // empty: it has its name
};

class GrowingFile final : public FdFile {
 public:
  using FdFile::FdFile;
  Status commit() override { return sync(); }
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

Result<std::unique_ptr<OutputFile>> OutputFile::create_growing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST)
    return error("{}: is there already: remove it, or give another name with -o", path);
  if (fd < 0) return error("{}: cannot create: {}", path, errno_text(errno));
  return std::unique_ptr<OutputFile>(std::make_unique<GrowingFile>(fd, path));
}

}  // namespace e4r::trace
