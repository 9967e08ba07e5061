// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

namespace e4r::test {

struct Outcome {
  int status = -1;  // exit status; 128 + N if signal N ended it
  std::string out;
  std::string err;
  double seconds = 0;  // wall-clock time
  double peak_kb = 0;  // peak resident memory; not less than the caller's memory at the start
};

// Runs argv[0], found in PATH or /usr/sbin, with LC_ALL=C and TZ=UTC and an empty standard input,
// and waits for it. Throws std::runtime_error if it cannot be started.
[[nodiscard]] Outcome run(const std::vector<std::string>& argv);

}  // namespace e4r::test
