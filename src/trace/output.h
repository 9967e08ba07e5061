// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "util/output.h"
#include "util/status.h"

namespace e4r::trace {

class OutputFile {
 public:
  // An output (util/output.h). A file is complete before anybody sees it, and there is none without
  // commit(). A name ending in ".zst" compresses.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const OutputName& name);
  // A file that has its name from the beginning and is written as things come, for a reader of what
  // was never finished; it stays when it is not committed. There must be none of that name.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create_growing(const OutputName& name);
  virtual ~OutputFile() = default;
  [[nodiscard]] virtual Status write(std::string_view bytes) = 0;
  // Ends the file, puts it on disk and gives it its name, in place of what had it.
  [[nodiscard]] virtual Status commit() = 0;
  // Removes a growing file that holds nothing to keep. Any other goes by itself.
  virtual void abandon() {}
};

}  // namespace e4r::trace
