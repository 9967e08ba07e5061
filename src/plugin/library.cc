// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/load.h"

#include <dlfcn.h>

namespace e4r::plugin {

Result<Library> Library::open(const std::string& path) {
  Handle handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL),
                [](void* opened) { ::dlclose(opened); });
  if (handle == nullptr) return error("is not a policy that can be loaded: {}", ::dlerror());
  return Library(std::move(handle));
}

void* Library::address_of(const char* name) const {
  return ::dlsym(handle_.get(), name);
}

bool opens_files() {
  return true;
}

}  // namespace e4r::plugin
