// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "util/status.h"

namespace e4r::plugin {

// A shared library that the dynamic linker has opened. Closed by the destructor unless kept.
class Library {
 public:
  // Errors, whose messages do not contain the path: the dynamic linker cannot open the file; this
  // program has no dynamic linker.
  [[nodiscard]] static Result<Library> open(const std::string& path);

  // Null if the file has no such function.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address_of(name));
  }
  void keep() { static_cast<void>(handle_.release()); }

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;
  explicit Library(Handle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] void* address_of(const char* name) const;

  Handle handle_;
};

// Whether this program can open shared libraries at all.
[[nodiscard]] bool opens_files();

}  // namespace e4r::plugin
