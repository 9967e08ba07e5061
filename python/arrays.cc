// SPDX-License-Identifier: GPL-2.0-or-later
#include "arrays.h"

namespace e4replay::python {

void define_memory(py::module_& module) {
  py::class_<Memory>(module, "Memory", py::buffer_protocol(), "Numbers that a memoryview shows.")
      .def_buffer([](Memory& memory) {
        return py::buffer_info(const_cast<void*>(memory.data),
                               static_cast<py::ssize_t>(memory.item), memory.format, 1,
                               {static_cast<py::ssize_t>(memory.count)},
                               {static_cast<py::ssize_t>(memory.stride)}, true);
      });
}

py::memoryview view_of(Memory memory) {
  if (memory.stride == 0) memory.stride = memory.item;
  // An empty vector has no address, but a view needs one.
  static const std::uint64_t nothing = 0;
  if (memory.data == nullptr) memory.data = &nothing;
  return py::memoryview(py::cast(std::move(memory)));
}

py::str text(std::string_view bytes) {
  PyObject* out =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (out == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(out);
}

}  // namespace e4replay::python
