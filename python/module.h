// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pybind11/pybind11.h>

// The parts of the extension module. e4replay/__init__.py builds the public API from them.
namespace e4replay::python {

void define_images(pybind11::module_& module);
void define_events(pybind11::module_& module);
void define_reports(pybind11::module_& module);
void define_recordings(pybind11::module_& module);
void define_policies(pybind11::module_& module);
void define_allocators(pybind11::module_& module);

}  // namespace e4replay::python
