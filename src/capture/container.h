// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/writer.h"
#include "util/status.h"

// The frames of an .e4c file (docs/capture-format.md): a header, then parts in the order in which
// they were recorded, each with a checksum, then an end mark. Reading never seeks, so a truncated
// file can be read up to its end.
namespace e4r::capture {

// The magic bytes at the start of every .e4c file.
inline constexpr std::string_view kMagic =
    "\x89"
    "E4C\r\n\x1a\n";
inline constexpr std::uint16_t kVersion = 1;
// The version of a capture with a checkpoint (text_name::kCheckpoint). Programs that know only
// version 1 would ignore the checkpoint.
inline constexpr std::uint16_t kCheckpointVersion = 2;

// The maximum size of a part before compression. Larger data is split into several parts.
inline constexpr std::size_t kMaxPartBytes = 1 << 20;

enum class PartKind : char {
  text = 'T',    // a named text, or another piece of it
  image = 'I',   // pieces of the start image
  events = 'V',  // bytes of an .e4t file
  end = 'Z',
};

struct Part {
  PartKind kind = PartKind::end;
  std::uint64_t offset = 0;  // file offset of the part's frame
  std::size_t stored = 0;    // bytes in the file, without the frame
  std::string_view bytes;    // valid until the next call; empty if not wanted
};

// Writes parts one by one. When add() returns, the part has been passed to OutputFile.
class ContainerWriter {
 public:
  // Writes the header.
  [[nodiscard]] static Result<ContainerWriter> create(std::unique_ptr<trace::OutputFile> file,
                                                      std::uint16_t version = kVersion);
  // `bytes` may have at most kMaxPartBytes bytes.
  [[nodiscard]] Status add(PartKind kind, std::string_view bytes);
  // Writes the end mark and commits the file.
  [[nodiscard]] Status finish();
  // Removes a growing file that holds nothing worth keeping.
  void abandon() { file_->abandon(); }
  [[nodiscard]] std::uint64_t bytes_written() const { return written_; }

 private:
  explicit ContainerWriter(std::unique_ptr<trace::OutputFile> file) : file_(std::move(file)) {}
  Status write(std::string_view bytes);

  std::unique_ptr<trace::OutputFile> file_;
  std::string packed_;
  std::uint64_t written_ = 0;
  std::uint64_t parts_ = 0;
  std::uint32_t chain_ = 0;  // checksum over the checksums of the parts
};

// Reads the parts of a file in order. Damage is an Error that gives the offset. A missing end mark
// is not an Error; cut_short() reports it.
class ContainerReader {
 public:
  ContainerReader(std::unique_ptr<trace::ByteSource> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  // Returns the next part, or a part of kind `end` at the end of the file, even if the file is
  // truncated. wanted(kind) says whether to decompress a part of that kind. The checksum of every
  // part is verified.
  template <class Wanted>
  [[nodiscard]] Result<Part> next(Wanted wanted) {
    E4R_TRY(Part part, next_frame());
    if (part.kind != PartKind::end && wanted(part.kind)) E4R_CHECK(unpack(part));
    return part;
  }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  Result<Part> next_frame();
  Result<Part> end_here();
  Status read_header();
  Status check_end(std::string_view payload);
  Status unpack(Part& part);
  Result<std::string_view> take(std::size_t size);
  template <class... Args>
  Error damage_error(fmt::format_string<Args...> format, Args&&... args) const;

  std::unique_ptr<trace::ByteSource> bytes_;
  std::string name_;
  std::string_view rest_;
  std::string buffer_;       // a frame that spans several chunks
  std::string_view stored_;  // the current part's bytes as stored in the file
  std::size_t plain_size_ = 0;
  bool packed_ = false;
  std::string plain_;
  std::uint64_t offset_ = 0;
  std::uint64_t frame_at_ = 0;
  std::uint64_t parts_ = 0;
  std::uint32_t chain_ = 0;
  bool started_ = false, ended_ = false, cut_short_ = false;
};

}  // namespace e4r::capture
