// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"
#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

// Conversions of captures, and the images from which ageing starts.
namespace e4r::tools {

// An image to read: an existing one, or a new one without a name, which disappears even if the
// program crashes.
class SourceImage {
 public:
  // Opens an existing image. If `target` is a size such as "10G", makes a file system on the same
  // disk as the aged image.
  [[nodiscard]] static Result<SourceImage> open(const std::string& target,
                                                const OutputName& output);
  // Makes a file system of that size in `directory`. `block_size` is in bytes; if it is 0, mke2fs
  // chooses. With `repeatable`, the bytes are the same each time, at any time of day.
  [[nodiscard]] static Result<SourceImage> make(const std::string& size,
                                                const std::string& directory,
                                                std::uint32_t block_size = 0,
                                                bool repeatable = false);

  // Makes a file system of `bytes` bytes on the disk of `output`. `arguments` are passed to mke2fs;
  // `extended`, for example ",stride=4", is appended to the value of -E. The bytes are the same
  // each time.
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

// Returns the size if a file system of that size can be aged. Otherwise the Error says how large it
// must be.
[[nodiscard]] Result<std::uint64_t> parse_start_size(const std::string& size);

// A conversion between a capture (.e4c) and a trace with files next to it, or from one capture to
// another.
struct CaptureConversion {
  std::string input;
  trace::ReadOptions open;  // how to read the input's events
  std::string output;
  std::string image;  // the start image, which is read or written
  bool anonymize = false;
  Outputs outputs = {};  // all files that are written must have been declared here
};

// Makes a capture from a trace, the files next to it, and the image; or from a capture. Prints what
// it has done.
[[nodiscard]] Status make_capture(const CaptureConversion& conversion);

// The files that write_files_of_capture() may write next to a trace with that name.
[[nodiscard]] std::vector<std::string> files_beside(const std::string& trace);

// Writes the parts of a capture other than its events: the image, and its texts in files named
// after the output.
[[nodiscard]] Status write_files_of_capture(const CaptureConversion& conversion);

}  // namespace e4r::tools
