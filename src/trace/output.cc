// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/output.h"

#include <zstd.h>

#include <utility>
#include <vector>

namespace e4r::trace {
namespace {

class PlainFile final : public OutputFile {
 public:
  explicit PlainFile(Output out) : out_(std::move(out)) {}
  Status write(std::string_view bytes) override { return out_.write(bytes); }
  Status commit() override { return out_.commit(); }
  void abandon() override { out_.abandon(); }

 private:
  Output out_;
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

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const OutputName& name) {
  E4R_TRY(Output out, Output::create(name));
  std::unique_ptr<OutputFile> file = std::make_unique<PlainFile>(std::move(out));
  if (name.path().ends_with(".zst")) file = std::make_unique<ZstdFile>(std::move(file));
  return file;
}

Result<std::unique_ptr<OutputFile>> OutputFile::create_growing(const OutputName& name) {
  E4R_TRY(Output out, Output::create_growing(name));
  return std::unique_ptr<OutputFile>(std::make_unique<PlainFile>(std::move(out)));
}

}  // namespace e4r::trace
