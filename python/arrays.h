// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace e4replay::python {

namespace py = pybind11;

// Read-only numbers that support the buffer protocol, for memoryviews. They live as long as any
// view of them.
struct Memory {
  std::shared_ptr<const void> keep;
  const void* data = nullptr;
  std::size_t item = 0;  // bytes
  const char* format = "";
  std::size_t count = 0;
  std::size_t stride = 0;  // bytes between items; if 0, `item`
};
void define_memory(py::module_& module);
// Returns a memoryview of the numbers.
[[nodiscard]] py::memoryview view_of(Memory memory);

// Returns a view that does not copy the numbers. `keep` keeps them alive.
template <class T>
py::memoryview view(std::span<const T> numbers, std::shared_ptr<const void> keep) {
  static const auto format = py::format_descriptor<T>::format();
  return view_of({std::move(keep), numbers.data(), sizeof(T), format.c_str(), numbers.size()});
}
template <class T>
py::memoryview view(std::vector<T> numbers) {
  const auto kept = std::make_shared<const std::vector<T>>(std::move(numbers));
  return view(std::span<const T>(*kept), kept);
}

// Returns a view of one member of each row.
template <class Row, class T>
py::memoryview column(const std::shared_ptr<const std::vector<Row>>& rows, const T Row::*member) {
  static const auto format = py::format_descriptor<T>::format();
  const void* const first = rows->empty() ? nullptr : &(rows->front().*member);
  return view_of({rows, first, sizeof(T), format.c_str(), rows->size(), sizeof(Row)});
}

// Returns a function for __repr__, which prints the class name and these attributes:
// "<e4replay.Group clusters=32768 fault=''>".
[[nodiscard]] inline auto repr_of(std::vector<const char*> attributes) {
  return [attributes = std::move(attributes)](const py::object& self) {
    py::str out = py::str("<e4replay.") + py::str(py::type::of(self).attr("__name__"));
    for (const char* name : attributes)
      out = out + py::str(" ") + py::str(name) + py::str("=") + py::repr(self.attr(name));
    return py::str(out + py::str(">"));
  };
}

// Converts text from outside this program. The text need not be valid UTF-8.
[[nodiscard]] py::str text(std::string_view bytes);
template <class List>
py::list texts(const List& lines) {
  py::list out;
  for (const auto& line : lines) out.append(text(line));
  return out;
}

}  // namespace e4replay::python
