// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the commands of tune2fs-lazy on damaged file systems (lazyinit/hostile_tables.h). No command
// may crash. A command that is refused must write nothing. Other commands must write only what
// their purpose requires.
#include <cstdio>
#include <cstdlib>

#include "lazyinit/hostile_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static e4r::test::HostileTables tables;
  const std::string problem = tables.judge({data, size});
  if (problem.empty()) return 0;
  std::fprintf(stderr, "fuzz_lazyinit: %s\n", problem.c_str());
  std::abort();
}
