// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "util/output.h"

// Internal to src/util: what has the name of an output.
namespace e4r {

struct OutputPlace {
  enum class Is : std::uint8_t {
    absent,      // a file will be created at `target`
    regular,     // the file at `target` will be replaced
    opened,      // a character device or a FIFO; `target` is opened
    descriptor,  // `descriptor` is written to
  };
  Is is = Is::absent;
  std::string target;
  int descriptor = -1;
  struct stat st = {};  // of the existing file

  [[nodiscard]] bool written_through() const { return is == Is::opened || is == Is::descriptor; }
  // Equal for two names of one place.
  [[nodiscard]] std::string identity() const;
};

// The Error says why the output cannot or must not be written.
[[nodiscard]] Result<OutputPlace> find_place(const OutputName& name, OutputKind kind);

}  // namespace e4r
