// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

namespace e4r::test {

struct Outcome {
  int status = -1;  // exit status; 128 + signal when one ended it
  std::string out;
  std::string err;
  double seconds = 0;  // from start to end
  double peak_kb = 0;  // most memory resident, no less than this process's own when it started
};

// Runs argv[0], looked up in PATH and /usr/sbin, with LC_ALL=C and TZ=UTC and nothing on standard
// input, and waits for it. Throws std::runtime_error when it cannot be started.
[[nodiscard]] Outcome run(const std::vector<std::string>& argv);

}  // namespace e4r::test
