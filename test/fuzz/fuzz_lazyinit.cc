// SPDX-License-Identifier: GPL-2.0-or-later
// Damaged file systems under the commands of tune2fs-lazy (lazyinit/hostile_tables.h): no crash,
// nothing written by what is refused, and nothing else than what a command is for.
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
