// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "util/status.h"

namespace e4r::trace {

// A file being written that nobody sees before it is complete: it has a temporary name in the same
// directory until commit(), and is gone if that never happens. A name ending in ".zst" compresses.
class OutputFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  virtual ~OutputFile() = default;
  [[nodiscard]] virtual Status write(std::string_view bytes) = 0;
  // Ends the file, puts it on disk and gives it its name, in place of what had it.
  [[nodiscard]] virtual Status commit() = 0;
};

}  // namespace e4r::trace
