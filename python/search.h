// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pybind11/pybind11.h>

#include <e4replay/plugin.h>

namespace e4replay::python {

// The types Search and SearchedGroup of the module, which a policy's functions are given. They are
// made by hand, since each attribute of an ordinary class costs several times as much, and a replay
// asks for millions.
void define_search(pybind11::module_& module);

// A Search as Python sees it while a function is called. When the object goes, what Python has kept
// of it is over: each use raises e4replay.Error. Made and destroyed with the lock held.
class GivenSearch {
 public:
  // `changes`: the function may set the goal's length.
  GivenSearch(const plugin::Search& search, bool changes);
  GivenSearch(const GivenSearch&) = delete;
  GivenSearch& operator=(const GivenSearch&) = delete;
  ~GivenSearch();

  [[nodiscard]] PyObject* object() const { return object_; }
  // A new reference.
  [[nodiscard]] PyObject* group(const plugin::Group& group) const;

 private:
  PyObject* object_;
};

// The number of a SearchedGroup; negative: it is none, or its search is over.
[[nodiscard]] long long number_of_group(PyObject* object);

}  // namespace e4replay::python
