// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/request.h"

namespace e4r::replay {

// Inputs of decisions that the trace does not carry. Follow works them out for runs that decide
// alone.
struct InputTable {
  std::vector<allocator::Inputs> known;      // by request number (Op::request) less 1
  std::vector<std::uint64_t> refused_frees;  // events that free blocks not in use, ascending
  // Requests, numbered from 1 and ascending, that are decided at the place of their answer, because
  // that gives the recorded result (OpStream).
  std::vector<std::uint64_t> late;
  // FITRIM calls (RecordedTrim::call), ascending, whose minlen was below that of the previous call.
  std::vector<std::uint32_t> trims_again;
};

}  // namespace e4r::replay
