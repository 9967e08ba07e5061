// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

#include <e4replay/version.h>

#include "arrays.h"
#include "calls.h"

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
  module.attr("version") = text(e4replay::version());
}
