// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <string>

namespace e4r {

// The names of unfinished files. A signal handler can remove them all before the program ends
// (remove_unfinished()). Only file systems without O_TMPFILE need this: on others an unfinished
// file has no name.
class Unfinished {
 public:
  Unfinished() = default;
  // Remembers the path. At most 64 paths, none longer than PATH_MAX, are remembered; only its owner
  // removes any further file.
  explicit Unfinished(const std::string& path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished() { forget(); }
  // The file has its final name now, or has been removed.
  void forget();

 private:
  std::size_t slot_ = 0;  // counted from 1; 0: no slot
};

// Removes the files. Safe in a signal handler.
void remove_unfinished() noexcept;

}  // namespace e4r
