// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces tracer.cc in builds without libtracefs.
#include "record/tracer.h"

namespace e4r::record {
namespace {

Error not_built() {
  return error(
      "this e4replay was built without libtracefs: build it with libtracefs-dev and "
      "libtraceevent-dev installed");
}

}  // namespace

Status find_tracefs() {
  return not_built();
}

Result<Instance> Instance::create(const std::string& /*device_name*/) {
  return not_built();
}
Instance::Instance(Instance&& other) noexcept = default;
Instance::~Instance() = default;

Result<std::vector<std::string>> clean_up_stale() {
  return not_built();
}

Result<std::unique_ptr<Tracer>> Tracer::create(const TracerOptions& /*options*/,
                                               Instance /*instance*/) {
  return not_built();
}

}  // namespace e4r::record
