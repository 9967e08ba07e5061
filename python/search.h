// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pybind11/pybind11.h>

#include <e4replay/plugin.h>

namespace e4replay::python {

// Defines the module's types Search and SearchedGroup, which a policy's functions receive. They are
// hand-written, because an attribute of an ordinary pybind11 class costs several times as much, and
// a replay reads millions of them.
void define_search(pybind11::module_& module);

// Lends a Search to a Python function during a call. The destructor expires all Python objects made
// from it: any later use raises e4replay.Error. Constructed and destroyed with the lock held.
class GivenSearch {
 public:
  // `changes` says whether the function may change the goal's length.
  GivenSearch(const plugin::Search& search, bool changes);
  GivenSearch(const GivenSearch&) = delete;
  GivenSearch& operator=(const GivenSearch&) = delete;
  ~GivenSearch();

  [[nodiscard]] PyObject* object() const { return object_; }
  // Returns a new reference.
  [[nodiscard]] PyObject* group(const plugin::Group& group) const;

 private:
  PyObject* object_;
};

// The number of a SearchedGroup; negative if the object is not a SearchedGroup or has expired.
[[nodiscard]] long long number_of_group(PyObject* object);

}  // namespace e4replay::python
