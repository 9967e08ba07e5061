// SPDX-License-Identifier: GPL-2.0-or-later
// Replays a trace on an image that need not belong to it, both drawn field by field
// (support/pair.h). Nothing may crash, and every invariant of the state must hold afterwards.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "support/pair.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string problem = e4r::test::replay_pair({data, size});
  if (problem.empty()) return 0;
  std::fprintf(stderr, "fuzz_pair: %s\n", problem.c_str());
  std::abort();
}
