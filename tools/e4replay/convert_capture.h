// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"
#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

// What a file system is aged from.
namespace e4r::tools {

// An image to read: an existing one, or a new one without a name, so that nothing is left of it
// however the program ends.
class SourceImage {
 public:
  // An existing image; or, by a size such as "10G", a file system that mke2fs makes on the disk of
  // the aged image.
  [[nodiscard]] static Result<SourceImage> open(const std::string& target,
                                                const OutputName& output);
  // A file system of the size, in `directory`. `block_size` in bytes; 0: mke2fs chooses.
  // `repeatable`: the same bytes each time, whatever the time is.
  [[nodiscard]] static Result<SourceImage> make(const std::string& size,
                                                const std::string& directory,
                                                std::uint32_t block_size = 0,
                                                bool repeatable = false);

  // A file system of that many bytes on the disk of `output`. `arguments` are mke2fs's; `extended`
  // is added to those of its -E: ",stride=4". The bytes are the same each time.
  [[nodiscard]] static Result<SourceImage> make_like(std::uint64_t bytes,
                                                     const std::vector<std::string>& arguments,
                                                     const std::string& extended,
                                                     const OutputName& output);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Status make_in(std::uint64_t bytes, const std::string& size,
                               const std::string& directory, const std::string& where,
                               std::uint32_t block_size = 0, bool repeatable = false);
  Fd made_;
  std::string path_;
};

// Whether a file system of that size can be aged: the error says how large it must be.
[[nodiscard]] Result<std::uint64_t> parse_start_size(const std::string& size);

// Between a capture (.e4c) and a trace with files beside it, or from one capture to another.
struct CaptureConversion {
  std::string input;
  trace::ReadOptions open;  // of the input's events
  std::string output;
  std::string image;  // the start image: to read, or to write
  bool anonymize = false;
  Outputs outputs = {};  // where all of what is written has been declared
};

// Makes a capture of a trace, what lies beside it, and the image; or of a capture. Says so.
[[nodiscard]] Status make_capture(const CaptureConversion& conversion);

// The files that write_files_of_capture() may write beside a trace of that name.
[[nodiscard]] std::vector<std::string> files_beside(const std::string& trace);

// Writes what a capture holds beside its events: the image, and its texts under the output's name.
[[nodiscard]] Status write_files_of_capture(const CaptureConversion& conversion);

}  // namespace e4r::tools
