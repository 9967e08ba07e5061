// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

#include <e4replay/version.h>

#include "arrays.h"
#include "calls.h"

namespace {

// Only the library may create objects of the module's classes. An object made by __new__() alone
// would be empty, and reading it would be unsafe.
void forbid_empty_objects(const pybind11::module_& module) {
  for (const auto& [name, of] : pybind11::dict(module.attr("__dict__"))) {
    if (PyType_Check(of.ptr()) == 0 || Py_TYPE(of.ptr()) == &PyType_Type) continue;  // skips Error
    auto* const type = reinterpret_cast<PyTypeObject*>(of.ptr());
    type->tp_new = nullptr;
    PyType_Modified(type);
  }
}

}  // namespace

PYBIND11_MODULE(_e4replay, module) {
  using namespace e4replay::python;
  module.doc() = "The library of e4replay as Python calls it. Use the package e4replay.";
  define_error(module);
  define_memory(module);
  define_images(module);
  define_events(module);
  define_reports(module);
  define_recordings(module);
  define_policies(module);
  define_allocators(module);
  forbid_empty_objects(module);
  module.attr("version") = text(e4replay::version());
}
