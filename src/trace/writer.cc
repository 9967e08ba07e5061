// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/writer.h"

#include <zstd.h>

#include <string_view>
#include <utility>
#include <vector>

#include "trace/e4t/file.h"
#include "trace/text/body.h"
#include "util/units.h"

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

namespace {

constexpr std::size_t kFlush = 256 * kKiB;

// Collects bytes in buffer_ and writes them in large pieces.
class BufferedWriter : public TraceWriter {
 public:
  explicit BufferedWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

 protected:
  Status flush_beyond(std::size_t limit) {
    if (buffer_.size() <= limit) return {};
    Status status = file_->write(buffer_);
    buffer_.clear();
    return status;
  }
  Status commit() {
    E4R_CHECK(flush_beyond(0));
    return file_->commit();
  }
  std::string buffer_;

 private:
  std::unique_ptr<OutputFile> file_;
};

class E4tWriter final : public BufferedWriter {
 public:
  explicit E4tWriter(std::unique_ptr<OutputFile> file) : BufferedWriter(std::move(file)) {
    writer_.begin();
  }
  Status add(std::span<const Event> events, Generation generation) override {
    writer_.add(events, generation);
    return flush_beyond(kFlush);
  }
  Status finish(const TraceSummary& summary) override {
    writer_.finish(summary);
    return commit();
  }

 private:
  e4t::Writer writer_{buffer_};
};

class TextWriter final : public BufferedWriter {
 public:
  explicit TextWriter(std::unique_ptr<OutputFile> file) : BufferedWriter(std::move(file)) {
    print_ftrace_header(buffer_);
  }
  Status add(std::span<const Event> events, Generation generation) override {
    for (const Event& e : events) print_ftrace_event(buffer_, e, generation);
    return flush_beyond(kFlush);
  }
  Status finish(const TraceSummary&) override { return commit(); }
};

// Removes the suffix ".zst" of compressed files.
std::string_view strip_zst(std::string_view name) {
  if (name.ends_with(".zst")) name.remove_suffix(4);
  return name;
}

}  // namespace

Status TraceWriter::check_name(const std::string& path) {
  if (strip_zst(path).ends_with(".e4t") || strip_zst(path).ends_with(".txt")) return {};
  return error("{}: name the output .e4t or .txt, followed by .zst to compress it", path);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const OutputName& name) {
  E4R_CHECK(check_name(name.path()));
  E4R_TRY(auto file, OutputFile::create(name));
  if (strip_zst(name.path()).ends_with(".e4t"))
    return std::unique_ptr<TraceWriter>(std::make_unique<E4tWriter>(std::move(file)));
  return std::unique_ptr<TraceWriter>(std::make_unique<TextWriter>(std::move(file)));
}

Result<std::uint64_t> copy_trace(Trace& trace, TraceWriter& writer, const EventFilter& keep) {
  std::uint64_t number = 0, written = 0;
  std::vector<Event> kept;
  for (;;) {
    E4R_TRY(auto batch, trace.next());
    if (batch.empty()) break;
    if (keep) {
      kept.clear();
      for (const Event& e : batch)
        if (keep(e, ++number)) kept.push_back(e);
      batch = kept;
    }
    E4R_CHECK(writer.add(batch, trace.summary().generation));
    written += batch.size();
  }
  E4R_CHECK(writer.finish(trace.summary()));
  return written;
}

}  // namespace e4r::trace
