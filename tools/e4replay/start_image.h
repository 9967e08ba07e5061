// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

// What a file system is aged from.
namespace e4r::tools {

// An image to read: an existing one, or a new one without a name, so that nothing is left of it
// however the program ends.
class StartImage {
 public:
  // An existing image; or, by a size such as "10G", a file system that mke2fs makes on the disk of
  // the aged image.
  [[nodiscard]] static Result<StartImage> open(const std::string& target, const OutputName& output);
  // A file system of the size, in `directory`. `block_size` in bytes; 0: mke2fs chooses.
  // `repeatable`: the same bytes each time, whatever the time is.
  [[nodiscard]] static Result<StartImage> make(const std::string& size,
                                               const std::string& directory,
                                               std::uint32_t block_size = 0,
                                               bool repeatable = false);

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

}  // namespace e4r::tools
