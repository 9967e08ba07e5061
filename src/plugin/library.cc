// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/library.h"

#include <dlfcn.h>

namespace e4r::plugin {

Result<Library> Library::open(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return error("is not a policy that can be loaded: {}", ::dlerror());
  return Library(handle);
}

Library::~Library() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* Library::address_of(const char* name) const {
  return ::dlsym(handle_, name);
}

bool opens_files() {
  return true;
}

}  // namespace e4r::plugin
