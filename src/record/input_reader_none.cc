// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces input_reader.cc in builds without libbpf or clang.
#include "record/input_reader.h"

namespace e4r::record {

Result<std::unique_ptr<InputReader>> InputReader::create(std::uint32_t /*dev*/,
                                                         TraceClock /*clock*/) {
  return error("this e4replay was built without libbpf and clang");
}

}  // namespace e4r::record
