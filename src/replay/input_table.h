// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/request.h"

namespace e4r::replay {

// What the trace does not carry: worked out by following it (Follow), for those who decide alone.
struct InputTable {
  std::vector<allocator::Inputs> known;      // of each request, by its number (Op::request) less 1
  std::vector<std::uint64_t> refused_frees;  // events that free what is not in use, ascending
  // Requests, numbered from 1 and ascending, that are decided where they were answered, since that
  // gives what was recorded (OpStream).
  std::vector<std::uint64_t> late;
  // Calls of FITRIM (RecordedTrim::call), ascending, whose minlen was below that of the one before.
  std::vector<std::uint32_t> trims_again;
};

}  // namespace e4r::replay
