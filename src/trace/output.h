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
  // Creates an output (util/output.h). The file appears complete on commit(), or not at all. A name
  // that ends in ".zst" is compressed.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const OutputName& name);
  // Creates a file that has its name from the beginning and grows with each write, so an unfinished
  // file can be read. It stays if it is never committed. No file of that name may exist.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create_growing(const OutputName& name);
  virtual ~OutputFile() = default;
  [[nodiscard]] virtual Status write(std::string_view bytes) = 0;
  // Ends the file, syncs it to disk and gives it its name, replacing any file of that name.
  [[nodiscard]] virtual Status commit() = 0;
  // Removes a growing file that holds nothing worth keeping. Other files need no such call: they
  // appear only on commit().
  virtual void abandon() {}
};

}  // namespace e4r::trace
