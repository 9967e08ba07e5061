// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <string>

namespace e4r {

// The names of files that are not finished. A signal handler can remove them all before the
// program ends (remove_unfinished()). Only file systems without O_TMPFILE need this: elsewhere an
// unfinished file has no name.
class Unfinished {
 public:
  Unfinished() = default;
  // Remembers the path. It does not remember more than 64 at a time, nor a path longer than
  // PATH_MAX: such a file is removed by its owner only.
  explicit Unfinished(const std::string& path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished() { forget(); }
  // The file has its own name now, or has been removed.
  void forget();

 private:
  std::size_t slot_ = 0;  // from 1 on; 0: none
};

// Removes the files. Safe in a signal handler.
void remove_unfinished() noexcept;

}  // namespace e4r
