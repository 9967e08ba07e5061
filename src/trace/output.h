// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r::trace {

class OutputFile {
 public:
  // A file that nobody sees before it is complete: it has a temporary name in the same directory
  // until commit(), and is gone if that never happens. A name ending in ".zst" compresses.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  // A file that has its name from the beginning and is written as things come, for a reader of what
  // was never finished; it stays when it is not committed. There must be none of that name.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create_growing(const std::string& path);
  virtual ~OutputFile() = default;
  [[nodiscard]] virtual Status write(std::string_view bytes) = 0;
  // Ends the file, puts it on disk and gives it its name, in place of what had it.
  [[nodiscard]] virtual Status commit() = 0;
};

}  // namespace e4r::trace
