// SPDX-License-Identifier: GPL-2.0-or-later
// In place of input_reader.cc where the build found no libbpf, or no clang.
#include "record/input_reader.h"

namespace e4r::record {

Result<std::unique_ptr<InputReader>> InputReader::create(std::uint32_t /*dev*/,
                                                         TraceClock /*clock*/) {
  return error("this e4replay was built without libbpf and clang");
}

}  // namespace e4r::record
