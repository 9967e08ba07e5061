// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces bpf_readers.cc in builds without libbpf or clang.
#include "record/bpf_readers.h"

namespace e4r::record {
namespace {

Error not_built() {
  return error("this e4replay was built without libbpf and clang");
}

}  // namespace

Result<std::unique_ptr<InputReader>> InputReader::create(std::uint32_t /*dev*/,
                                                         TraceClock /*clock*/) {
  return not_built();
}

Result<ReadMemory> load_memory_reader(std::uint32_t /*dev*/) {
  return not_built();
}

}  // namespace e4r::record
