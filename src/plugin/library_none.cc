// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces library.cc in programs without shared libraries (E4R_STATIC).
#include "plugin/load.h"

namespace e4r::plugin {

Result<Library> Library::open(const std::string& /*path*/) {
  return error(
      "policies cannot be loaded by this e4replay, which was built without shared "
      "libraries: build it without E4R_STATIC");
}

void* Library::address_of(const char* /*name*/) const {
  return nullptr;
}

bool opens_files() {
  return false;
}

}  // namespace e4r::plugin
